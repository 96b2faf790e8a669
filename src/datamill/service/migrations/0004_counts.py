"""Counts of trials and paces of workers, so that nobody who looks on has to count all trials.

Counts are kept by triggers: on PostgreSQL one statement's changes at once, on SQLite row by row. A later
migration that rebuilds one of the two tables in SQLite has to drop these triggers before and make them anew.
"""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

TRIALS, COUNTS = "datamill_trial", "datamill_trialcount"
KEYS = ("experiment_id", "worker_id", "purpose", "state")
COLUMNS = ", ".join(KEYS)
FILL_COUNTS = f"""
INSERT INTO {COUNTS} ({COLUMNS}, trials)
SELECT {COLUMNS}, COUNT(*) FROM {TRIALS} GROUP BY {COLUMNS}
"""
FILL_PACES = """
INSERT INTO datamill_pace (experiment_id, worker_id, trials, first_leased_unix_s, last_ended_unix_s)
SELECT t.experiment_id, a.worker_id, COUNT(*), MIN(a.leased_unix_s), MAX(a.ended_unix_s)
FROM datamill_attempt a JOIN datamill_trial t ON t.id = a.trial_id
WHERE a.state = 'counted' AND t.purpose = 'design' GROUP BY t.experiment_id, a.worker_id
"""
#: PostgreSQL: what a statement changed, summed up. `went` and `came` are the rows before and after it.
#: Only inserts that meet a conflict: these take the index, whatever the plan was made for that a session keeps.
ADD = (
    f"INSERT INTO {COUNTS} ({COLUMNS}, trials) SELECT {COLUMNS}, SUM(one) FROM ({{rows}}) v "
    f"GROUP BY {COLUMNS} HAVING SUM(one) <> 0 "
    f"ON CONFLICT ({COLUMNS}) DO UPDATE SET trials = {COUNTS}.trials + EXCLUDED.trials;"
)
CAME = f"SELECT {COLUMNS}, 1 AS one FROM came"
WENT = f"SELECT {COLUMNS}, -1 AS one FROM went"
FUNCTION = f"""
CREATE FUNCTION datamill_count_trials() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        {ADD.format(rows=CAME)}
    ELSIF TG_OP = 'DELETE' THEN
        {ADD.format(rows=WENT)}
    ELSE
        {ADD.format(rows=f"{CAME} UNION ALL {WENT}")}
    END IF;
    RETURN NULL;
END $$
"""
#: Trigger -> (when, which rows it looks at).
ON_POSTGRESQL = {
    "datamill_trial_inserted": ("INSERT", "NEW TABLE AS came"),
    "datamill_trial_updated": ("UPDATE", "OLD TABLE AS went NEW TABLE AS came"),
    "datamill_trial_deleted": ("DELETE", "OLD TABLE AS went"),
}
COME = (
    f"INSERT INTO {COUNTS} ({COLUMNS}, trials) VALUES ({', '.join(f'NEW.{key}' for key in KEYS)}, 1) "
    f"ON CONFLICT ({COLUMNS}) DO UPDATE SET trials = trials + 1;"
)
GO = f"UPDATE {COUNTS} SET trials = trials - 1 WHERE {' AND '.join(f'{key} = OLD.{key}' for key in KEYS)};"
ON_SQLITE = {
    "datamill_trial_inserted": f"AFTER INSERT ON {TRIALS} FOR EACH ROW BEGIN {COME} END",
    "datamill_trial_updated": (
        f"AFTER UPDATE OF {COLUMNS} ON {TRIALS} FOR EACH ROW "
        f"WHEN {' OR '.join(f'OLD.{key} <> NEW.{key}' for key in KEYS)} BEGIN {GO} {COME} END"
    ),
    "datamill_trial_deleted": f"AFTER DELETE ON {TRIALS} FOR EACH ROW BEGIN {GO} END",
}


def begin_counting(_apps: Any, editor: Any) -> None:
    editor.execute(FILL_COUNTS, params=None)
    editor.execute(FILL_PACES, params=None)
    if editor.connection.vendor == "postgresql":
        # A count changes with every statement: room for the new version in the same page spares the index.
        editor.execute(f"ALTER TABLE {COUNTS} SET (fillfactor = 50)")
        editor.execute(FUNCTION, params=None)
        for name, (moment, rows) in ON_POSTGRESQL.items():
            editor.execute(
                f"CREATE TRIGGER {name} AFTER {moment} ON {TRIALS} REFERENCING {rows} "
                "FOR EACH STATEMENT EXECUTE FUNCTION datamill_count_trials()"
            )
        return
    for name, rest in ON_SQLITE.items():
        editor.execute(f"CREATE TRIGGER {name} {rest}")


def end_counting(_apps: Any, editor: Any) -> None:
    on_table = f" ON {TRIALS}" if editor.connection.vendor == "postgresql" else ""
    for name in ON_SQLITE:
        editor.execute(f"DROP TRIGGER {name}{on_table}")
    if on_table:
        editor.execute("DROP FUNCTION datamill_count_trials()")


def refer(to: str, on_delete: Any, **options: Any) -> Any:
    return models.ForeignKey(f"datamill.{to}", on_delete=on_delete, **options)


def make_id() -> Any:
    return models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    """See above."""

    dependencies = [("datamill", "0003_goodbyes")]

    operations = [
        migrations.CreateModel(
            "TrialCount",
            [
                ("id", make_id()),
                ("experiment", refer("experiment", django.db.models.deletion.CASCADE, db_index=False)),
                ("worker", refer("worker", django.db.models.deletion.PROTECT)),
                (
                    "purpose",
                    models.CharField(
                        choices=[("design", "design"), ("debug", "debug"), ("build", "build")], max_length=8
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting"),
                            ("planned", "planned"),
                            ("leased", "leased"),
                            ("counted", "counted"),
                            ("given_up", "given up"),
                            ("cancelled", "cancelled"),
                        ],
                        max_length=9,
                    ),
                ),
                ("trials", models.IntegerField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("experiment", "worker", "purpose", "state"), name="one_count_each"
                    ),
                ]
            },
        ),
        migrations.CreateModel(
            "Pace",
            [
                ("id", make_id()),
                ("experiment", refer("experiment", django.db.models.deletion.CASCADE, db_index=False)),
                ("worker", refer("worker", django.db.models.deletion.PROTECT)),
                ("trials", models.IntegerField()),
                ("first_leased_unix_s", models.FloatField()),
                ("last_ended_unix_s", models.FloatField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("experiment", "worker"), name="one_pace_a_worker")
                ]
            },
        ),
        migrations.RunPython(begin_counting, end_counting),
    ]
