"""Batches of experiments that grow: each waits for the look at the one before, whose decision is kept."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

NAME, TABLE = "datamill_look_decided", "datamill_look"
CONDITION = "OLD.decision IS NOT NULL AND (NEW.decision IS NULL OR NEW.decision <> OLD.decision)"
SAYS = "a decision cannot be changed"


def set_guard(_apps: Any, editor: Any) -> None:
    if editor.connection.vendor == "postgresql":
        when, action = f"WHEN ({CONDITION})", f"EXECUTE FUNCTION datamill_refuse('{SAYS}')"
    else:
        when, action = f"WHEN {CONDITION}", f"BEGIN SELECT RAISE(ABORT, '{SAYS}'); END"
    editor.execute(f"CREATE TRIGGER {NAME} BEFORE UPDATE OF decision ON {TABLE} FOR EACH ROW {when} {action}")


def lift_guard(_apps: Any, editor: Any) -> None:
    where = f" ON {TABLE}" if editor.connection.vendor == "postgresql" else ""
    editor.execute(f"DROP TRIGGER {NAME}{where}")


class Migration(migrations.Migration):
    """Columns that may be empty, and a new table: no table is made anew in SQLite."""

    dependencies = [("datamill", "0009_sealed_designs")]

    operations = [
        migrations.AddField("fleetexperiment", "open_position", models.BigIntegerField(null=True)),
        migrations.CreateModel(
            "Look",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "experiment",
                    models.ForeignKey(
                        "datamill.fleetexperiment",
                        on_delete=django.db.models.deletion.CASCADE,
                        db_index=False,
                    ),
                ),
                ("number", models.IntegerField()),
                ("last_position", models.BigIntegerField()),
                ("stops", models.BooleanField(null=True)),
                ("decision", models.BinaryField(null=True)),
                ("decided_unix_s", models.FloatField(null=True)),
            ],
            options={
                "db_table": "datamill_look",
                "constraints": [
                    models.UniqueConstraint(fields=("experiment", "number"), name="one_look_a_number"),
                    models.CheckConstraint(
                        condition=models.Q(
                            decision__isnull=True, stops__isnull=True, decided_unix_s__isnull=True
                        )
                        | models.Q(decision__isnull=False, stops__isnull=False, decided_unix_s__isnull=False),
                        name="look_decided_when",
                    ),
                ],
            },
        ),
        migrations.RunPython(set_guard, lift_guard),
        # Screenings that come before an experiment: what follows one, and what one found.
        migrations.AddField("fleetexperiment", "follow", models.BinaryField(null=True)),
        migrations.AddField("fleetexperiment", "follow_reason", models.TextField(null=True)),
        migrations.AddField("fleetexperiment", "screened", models.BinaryField(null=True)),
    ]
