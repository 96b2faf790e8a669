"""Shares of users, priorities of experiments, and the machine time that each had since there are shares.

Columns that may be empty, and new tables: no table is made anew in SQLite. What an experiment may ask for is
guarded by a trigger, since a constraint would make its table anew.
"""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

EXPERIMENT = "datamill_experiment"
PRIORITY = "NEW.priority IS NOT NULL AND (NEW.priority < 0.1 OR NEW.priority > 10)"
LESS = "NEW.held_s < OLD.held_s OR NEW.virtual_s < OLD.virtual_s OR NEW.attempts < OLD.attempts"
#: Trigger -> (what it comes before, table, condition, what it says).
GUARDS = {
    "datamill_priority_begins": ("INSERT", EXPERIMENT, PRIORITY, "a priority is from 0.1 to 10"),
    "datamill_priority_changes": ("UPDATE OF priority", EXPERIMENT, PRIORITY, "a priority is from 0.1 to 10"),
    "datamill_usertime_grows": ("UPDATE", "datamill_usertime", LESS, "machine time cannot be taken back"),
    "datamill_experimenttime_grows": (
        "UPDATE",
        "datamill_experimenttime",
        LESS,
        "machine time cannot be taken back",
    ),
    "datamill_attempt_held": (
        "UPDATE OF held_s",
        "datamill_attempt",
        "OLD.held_s IS NOT NULL AND (NEW.held_s IS NULL OR NEW.held_s <> OLD.held_s)",
        "the time of an attempt cannot be changed",
    ),
}


def set_guards(_apps: Any, editor: Any) -> None:
    is_postgresql = editor.connection.vendor == "postgresql"
    if is_postgresql:
        # Both change with every trial: room for the new version in the same page spares their indexes.
        editor.execute("ALTER TABLE datamill_usertime SET (fillfactor = 50)")
        editor.execute("ALTER TABLE datamill_experimenttime SET (fillfactor = 50)")
    for name, (moment, table, condition, says) in GUARDS.items():
        if is_postgresql:
            when, action = f"WHEN ({condition})", f"EXECUTE FUNCTION datamill_refuse('{says}')"
        else:
            when, action = f"WHEN {condition}", f"BEGIN SELECT RAISE(ABORT, '{says}'); END"
        editor.execute(f"CREATE TRIGGER {name} BEFORE {moment} ON {table} FOR EACH ROW {when} {action}")


def lift_guards(_apps: Any, editor: Any) -> None:
    for name, (_, table, _, _) in GUARDS.items():
        where = f" ON {table}" if editor.connection.vendor == "postgresql" else ""
        editor.execute(f"DROP TRIGGER {name}{where}")


def refer(to: str, on_delete: Any, **options: Any) -> Any:
    return models.ForeignKey(to, on_delete=on_delete, **options)


def make_id() -> Any:
    return models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    """See above."""

    dependencies = [
        ("datamill", "0010_looks"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField("fleetexperiment", "priority", models.FloatField(null=True)),
        *(
            migrations.AddField("attempt", name, models.FloatField(null=True))
            for name in ("start_s", "inner_start_s", "share", "priority", "turn_unix_s", "held_s")
        ),
        migrations.CreateModel(
            "UserShare",
            [
                (
                    "user",
                    models.OneToOneField(
                        settings.AUTH_USER_MODEL,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("share", models.FloatField()),
            ],
            options={
                "db_table": "datamill_usershare",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(share__gte=0.01, share__lte=100.0), name="share_within"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            "UserTime",
            [
                ("id", make_id()),
                (
                    "worker",
                    refer("datamill.fleetworker", django.db.models.deletion.PROTECT, db_index=False),
                ),
                ("user", refer(settings.AUTH_USER_MODEL, django.db.models.deletion.PROTECT)),
                ("attempts", models.IntegerField()),
                *(
                    (name, models.FloatField())
                    for name in (
                        "held_s",
                        "virtual_s",
                        "clock_s",
                        "share",
                        "since_virtual_s",
                        "since_held_s",
                    )
                ),
            ],
            options={
                "db_table": "datamill_usertime",
                "constraints": [
                    models.UniqueConstraint(fields=("worker", "user"), name="one_time_a_user"),
                    models.CheckConstraint(
                        condition=models.Q(
                            held_s__gte=0.0,
                            share__gt=0.0,
                            attempts__gte=1,
                            since_held_s__lte=models.F("held_s"),
                        ),
                        name="user_time_sound",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            "ExperimentTime",
            [
                ("id", make_id()),
                (
                    "worker",
                    refer("datamill.fleetworker", django.db.models.deletion.PROTECT, db_index=False),
                ),
                ("experiment", refer("datamill.fleetexperiment", django.db.models.deletion.CASCADE)),
                ("attempts", models.IntegerField()),
                *((name, models.FloatField()) for name in ("held_s", "virtual_s", "start_s", "priority")),
            ],
            options={
                "db_table": "datamill_experimenttime",
                "constraints": [
                    models.UniqueConstraint(fields=("worker", "experiment"), name="one_time_an_experiment"),
                    models.CheckConstraint(
                        condition=models.Q(held_s__gte=0.0, priority__gt=0.0, attempts__gte=1),
                        name="time_sound",
                    ),
                ],
            },
        ),
        migrations.RunPython(set_guards, lift_guards),
    ]
