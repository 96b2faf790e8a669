"""Quotas of users, how long files are kept, and when a file was removed."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Two new tables and a column."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("datamill", "0015_notices"),
    ]

    operations = [
        migrations.AddField("StoredFile", "removed_unix_s", models.FloatField(null=True)),
        migrations.CreateModel(
            "Retention",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uploads_days", models.IntegerField(null=True)),
                ("artifacts_days", models.IntegerField(null=True)),
            ],
            options={
                "db_table": "datamill_retention",
                "constraints": [
                    models.CheckConstraint(
                        condition=(Q(uploads_days__isnull=True) | Q(uploads_days__gte=1))
                        & (Q(artifacts_days__isnull=True) | Q(artifacts_days__gte=1)),
                        name="retention_sound",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            "UserQuota",
            [
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("stored_bytes", models.BigIntegerField(null=True)),
                ("open_trials", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "datamill_userquota",
                "constraints": [
                    models.CheckConstraint(
                        condition=(Q(stored_bytes__isnull=True) | Q(stored_bytes__gte=0))
                        & (Q(open_trials__isnull=True) | Q(open_trials__gte=0)),
                        name="quota_sound",
                    )
                ],
            },
        ),
    ]
