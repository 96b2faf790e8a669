"""Requests that carry a key of their sender's, so that one that is sent again is not done again."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """A table."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("datamill", "0018_scopes"),
    ]

    operations = [
        migrations.CreateModel(
            "KeyedRequest",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=255)),
                ("request_sha256", models.CharField(max_length=64)),
                ("token", models.CharField(max_length=16)),
                ("made_unix_s", models.FloatField(db_index=True)),
                ("status", models.SmallIntegerField(null=True)),
                ("answer", models.BinaryField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "datamill_keyedrequest",
                "constraints": [
                    models.UniqueConstraint(fields=("user", "key"), name="one_request_a_key"),
                    models.CheckConstraint(
                        condition=models.Q(answer__isnull=True, status__isnull=True)
                        | models.Q(answer__isnull=False, status__isnull=False),
                        name="request_answered_whole",
                    ),
                ],
            },
        ),
    ]
