"""What was published, which nobody changes, and experiments that run others again."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

FIXED = (
    "key", "experiment_id", "publisher_id", "published_unix_s", "sha256", "size_bytes", "description", "words",
    "statement",
)
#: Trigger -> (what it comes before, table, condition, what it says).
GUARDS = {
    "datamill_publication_fixed": (
        "UPDATE",
        "datamill_publication",
        " OR ".join((*(f"OLD.{name} <> NEW.{name}" for name in FIXED), "OLD.withdrawn_unix_s IS NOT NULL")),
        "a publication cannot be changed",
    ),
    "datamill_publication_stays": ("DELETE", "datamill_publication", "", "a publication cannot be removed"),
    "datamill_rerun_fixed": (
        "UPDATE",
        "datamill_rerun",
        "OLD.margin <> NEW.margin OR OLD.original_id <> NEW.original_id OR OLD.verdict IS NOT NULL",
        "a verdict, and what it rests on, cannot be changed",
    ),
}


def set_guards(_apps: Any, editor: Any) -> None:
    for name, (moment, table, condition, says) in GUARDS.items():
        when = f"WHEN ({condition})" if condition else ""
        if editor.connection.vendor == "postgresql":
            action = f"EXECUTE FUNCTION datamill_refuse('{says}')"
        else:
            action = f"BEGIN SELECT RAISE(ABORT, '{says}'); END"
        editor.execute(f"CREATE TRIGGER {name} BEFORE {moment} ON {table} FOR EACH ROW {when} {action}")


def lift_guards(_apps: Any, editor: Any) -> None:
    for name, (_, table, _, _) in GUARDS.items():
        where = f" ON {table}" if editor.connection.vendor == "postgresql" else ""
        editor.execute(f"DROP TRIGGER {name}{where}")


class Migration(migrations.Migration):
    """Two new tables, with guards."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("datamill", "0012_factors"),
    ]

    operations = [
        migrations.CreateModel(
            "Publication",
            [
                ("key", models.CharField(max_length=12, primary_key=True, serialize=False)),
                ("published_unix_s", models.FloatField()),
                ("sha256", models.CharField(max_length=64)),
                ("size_bytes", models.BigIntegerField()),
                ("description", models.BinaryField()),
                ("words", models.TextField()),
                ("statement", models.BinaryField()),
                ("withdrawn_unix_s", models.FloatField(null=True)),
                ("withdrawn_reason", models.TextField(default="")),
                (
                    "experiment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="datamill.fleetexperiment"
                    ),
                ),
                (
                    "publisher",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "datamill_publication",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(withdrawn_unix_s__isnull=True, withdrawn_reason="")
                        | (models.Q(withdrawn_unix_s__isnull=False) & ~models.Q(withdrawn_reason="")),
                        name="withdrawn_why",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            "Rerun",
            [
                (
                    "experiment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="rerun",
                        serialize=False,
                        to="datamill.fleetexperiment",
                    ),
                ),
                ("margin", models.FloatField()),
                ("made_unix_s", models.FloatField()),
                ("verdict", models.BinaryField(null=True)),
                ("judged_unix_s", models.FloatField(null=True)),
                (
                    "original",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reruns",
                        to="datamill.fleetexperiment",
                    ),
                ),
            ],
            options={
                "db_table": "datamill_rerun",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(margin__gt=0, margin__lt=1), name="rerun_margin"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(verdict__isnull=True, judged_unix_s__isnull=True)
                        | models.Q(verdict__isnull=False, judged_unix_s__isnull=False),
                        name="rerun_judged_when",
                    ),
                ],
            },
        ),
        migrations.RunPython(set_guards, lift_guards),
    ]
