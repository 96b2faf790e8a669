"""Workers that leave say so: the state `away`, and the sessions of which a goodbye ends one."""

from typing import Any

from django.db import migrations, models

TABLE = "datamill_worker"
STATES = ["idle", "busy", "away", "silent", "drained", "removed"]
FOLLOWING = (
    "idle>busy idle>away idle>drained idle>removed "
    "busy>idle busy>away busy>silent busy>drained busy>removed "
    "away>idle away>drained away>removed "
    "silent>idle silent>away silent>drained silent>removed "
    "drained>idle drained>away drained>busy drained>removed"
)
#: Those before this migration.
FORMER_FOLLOWING = (
    "idle>busy idle>drained idle>removed "
    "busy>idle busy>silent busy>drained busy>removed "
    "silent>idle silent>drained silent>removed "
    "drained>idle drained>busy drained>removed"
)


def guard(editor: Any, first: str, following: str) -> None:
    """Make the triggers of the workers' table: SQLite drops them with a table that it makes anew."""
    pairs = ", ".join(f"'{pair}'" for pair in following.split())
    guards = {
        f"{TABLE}_begins": ("INSERT", f"NEW.state NOT IN ('{first}')", "no row begins in this state"),
        f"{TABLE}_lifecycle": (
            "UPDATE OF state",
            f"OLD.state <> NEW.state AND OLD.state || '>' || NEW.state NOT IN ({pairs})",
            "this state does not follow that one",
        ),
    }
    is_postgresql = editor.connection.vendor == "postgresql"
    for name, (moment, condition, says) in guards.items():
        editor.execute(f"DROP TRIGGER IF EXISTS {name}" + (f" ON {TABLE}" if is_postgresql else ""))
        if is_postgresql:
            when, action = f"WHEN ({condition})", f"EXECUTE FUNCTION datamill_refuse('{TABLE}: {says}')"
        else:
            when, action = f"WHEN {condition}", f"BEGIN SELECT RAISE(ABORT, '{TABLE}: {says}'); END"
        editor.execute(f"CREATE TRIGGER {name} BEFORE {moment} ON {TABLE} FOR EACH ROW {when} {action}")


def guard_now(_apps: Any, editor: Any) -> None:
    guard(editor, "away", FOLLOWING)


def guard_as_before(_apps: Any, editor: Any) -> None:
    guard(editor, "idle", FORMER_FOLLOWING)


def check_states(states: list[str]) -> models.CheckConstraint:
    return models.CheckConstraint(condition=models.Q(("state__in", states)), name="worker_state")


class Migration(migrations.Migration):
    """See above."""

    dependencies = [("datamill", "0002_guards")]

    operations = [
        # Undone last.
        migrations.RunPython(migrations.RunPython.noop, guard_as_before),
        migrations.AddField("worker", "sessions", models.JSONField(null=True)),
        migrations.AddField("worker", "left_unix_s", models.FloatField(null=True)),
        migrations.AlterField(
            "worker",
            "state",
            models.CharField(choices=[(state, state) for state in STATES], default="away", max_length=8),
        ),
        migrations.RemoveConstraint("worker", "worker_state"),
        migrations.AddConstraint("worker", check_states(STATES)),
        migrations.RunPython(guard_now, migrations.RunPython.noop),
    ]
