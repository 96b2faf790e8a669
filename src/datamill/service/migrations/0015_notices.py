"""Notices: where users want to hear of what happened, what is still to be sent, and how far they are made."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

_ID = ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))


class Migration(migrations.Migration):
    """Three new tables."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("datamill", "0014_experiment_files"),
    ]

    operations = [
        migrations.CreateModel(
            "NoticeCursor",
            [_ID, ("event_id", models.BigIntegerField())],
            options={"db_table": "datamill_noticecursor"},
        ),
        migrations.CreateModel(
            "NoticeTarget",
            [
                _ID,
                ("kind", models.CharField(max_length=8)),
                ("address", models.CharField(default="", max_length=500)),
                ("secret", models.CharField(db_index=True, default="", max_length=64)),
                ("subjects", models.CharField(max_length=100)),
                ("confirmed", models.BooleanField(default=True)),
                ("made_unix_s", models.FloatField()),
                ("failures", models.IntegerField(default=0)),
                ("paused_unix_s", models.FloatField(null=True)),
                ("sent_unix_s", models.FloatField(null=True)),
                ("trouble", models.TextField(default="")),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "datamill_noticetarget",
                "constraints": [
                    models.UniqueConstraint(fields=("user", "kind", "address"), name="one_target_an_address"),
                    models.CheckConstraint(
                        condition=models.Q(kind__in=["webhook", "mail", "feed"]), name="target_kind"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            "Notice",
            [
                _ID,
                ("event_id", models.BigIntegerField()),
                ("body", models.BinaryField()),
                ("attempts", models.IntegerField(default=0)),
                ("next_unix_s", models.FloatField(db_index=True)),
                (
                    "target",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="datamill.noticetarget",
                    ),
                ),
            ],
            options={
                "db_table": "datamill_notice",
                "constraints": [
                    models.UniqueConstraint(fields=("target", "event_id"), name="one_notice_an_event")
                ],
            },
        ),
    ]
