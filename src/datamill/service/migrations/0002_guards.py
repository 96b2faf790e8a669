"""The database refuses what must not be: changes of the account, and states that no lifecycle knows.

The transitions are those of `coordinator/lifecycles.py` when this was written; tests hold the two, and
`docs/lifecycles/`, together. A later migration that rebuilds one of these tables in SQLite has to make its
triggers anew.
"""

from typing import Any

from django.db import migrations

LIFECYCLES = {
    "datamill_experiment": (
        "debugging held running",
        "debugging>held debugging>running debugging>completed debugging>cancelled "
        "held>running held>completed held>cancelled "
        "running>held running>completed running>cancelled",
    ),
    "datamill_trial": (
        "waiting planned",
        "waiting>planned waiting>counted waiting>given_up waiting>cancelled "
        "planned>waiting planned>leased planned>counted planned>given_up planned>cancelled "
        "leased>waiting leased>planned leased>counted leased>given_up leased>cancelled "
        "given_up>counted",
    ),
    "datamill_attempt": (
        "leased",
        "leased>taken leased>counted leased>late leased>faulty leased>refused leased>lost leased>cancelled "
        "taken>counted taken>late taken>faulty taken>refused taken>lost "
        "lost>counted lost>late lost>faulty "
        "cancelled>late cancelled>faulty",
    ),
    "datamill_worker": (
        "idle",
        "idle>busy idle>drained idle>removed "
        "busy>idle busy>silent busy>drained busy>removed "
        "silent>idle silent>drained silent>removed "
        "drained>idle drained>busy drained>removed",
    ),
}
#: Trigger -> (what it comes before, table, condition, what it says).
GUARDS = {
    "datamill_event_kept": ("UPDATE", "datamill_event", "", "events cannot be changed"),
    "datamill_event_stays": ("DELETE", "datamill_event", "", "events cannot be removed"),
    "datamill_attempt_record": (
        "UPDATE OF record",
        "datamill_attempt",
        "OLD.record IS NOT NULL AND (NEW.record IS NULL OR NEW.record <> OLD.record)",
        "a record cannot be changed",
    ),
}
for table, (first, following) in LIFECYCLES.items():
    firsts = ", ".join(f"'{state}'" for state in first.split())
    pairs = ", ".join(f"'{pair}'" for pair in following.split())
    GUARDS[f"{table}_begins"] = (
        "INSERT",
        table,
        f"NEW.state NOT IN ({firsts})",
        f"{table}: no row begins in this state",
    )
    GUARDS[f"{table}_lifecycle"] = (
        "UPDATE OF state",
        table,
        f"OLD.state <> NEW.state AND OLD.state || '>' || NEW.state NOT IN ({pairs})",
        f"{table}: this state does not follow that one",
    )
REFUSE = """
CREATE FUNCTION datamill_refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'check_violation'; END $$
"""


def set_guards(_apps: Any, editor: Any) -> None:
    if editor.connection.vendor == "postgresql":
        editor.execute(REFUSE, params=None)
        editor.execute(
            "CREATE TRIGGER datamill_event_whole BEFORE TRUNCATE ON datamill_event "
            "EXECUTE FUNCTION datamill_refuse('events cannot be removed')"
        )
        # Rows of workers change with every trial: room for the new version in the same page spares their indexes.
        editor.execute("ALTER TABLE datamill_worker SET (fillfactor = 50)")
        # Records are some kilobytes of JSON; where there is LZ4, packing them takes a fifth of the time.
        with editor.connection.cursor() as cursor:
            cursor.execute("SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression'")
            found = cursor.fetchone()
        if found and "lz4" in found[0]:
            editor.execute("ALTER TABLE datamill_attempt ALTER COLUMN record SET COMPRESSION lz4")
    for name, (moment, table, condition, says) in GUARDS.items():
        if editor.connection.vendor == "postgresql":
            when = f"WHEN ({condition})" if condition else ""
            action = f"EXECUTE FUNCTION datamill_refuse('{says}')"
        else:
            when = f"WHEN {condition}" if condition else ""
            action = f"BEGIN SELECT RAISE(ABORT, '{says}'); END"
        editor.execute(f"CREATE TRIGGER {name} BEFORE {moment} ON {table} FOR EACH ROW {when} {action}")


def lift_guards(_apps: Any, editor: Any) -> None:
    on_table = editor.connection.vendor == "postgresql"
    for name, (_, table, _, _) in GUARDS.items():
        editor.execute(f"DROP TRIGGER {name} ON {table}" if on_table else f"DROP TRIGGER {name}")
    if on_table:
        editor.execute("DROP TRIGGER datamill_event_whole ON datamill_event")
        editor.execute("DROP FUNCTION datamill_refuse()")


class Migration(migrations.Migration):
    dependencies = [("datamill", "0001_tables")]
    operations = [migrations.RunPython(set_guards, lift_guards)]
