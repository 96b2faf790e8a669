"""The digest of `design.json` as it was submitted, which cannot be changed once it is there."""

from typing import Any

from django.db import migrations, models

NAME, TABLE = "datamill_experiment_seal", "datamill_experiment"
CONDITION = (
    "OLD.design_sha256 IS NOT NULL AND (NEW.design_sha256 IS NULL OR NEW.design_sha256 <> OLD.design_sha256)"
)
SAYS = "a sealed design cannot be changed"


def set_guard(_apps: Any, editor: Any) -> None:
    if editor.connection.vendor == "postgresql":
        when, action = f"WHEN ({CONDITION})", f"EXECUTE FUNCTION datamill_refuse('{SAYS}')"
    else:
        when, action = f"WHEN {CONDITION}", f"BEGIN SELECT RAISE(ABORT, '{SAYS}'); END"
    editor.execute(
        f"CREATE TRIGGER {NAME} BEFORE UPDATE OF design_sha256 ON {TABLE} FOR EACH ROW {when} {action}"
    )


def lift_guard(_apps: Any, editor: Any) -> None:
    where = f" ON {TABLE}" if editor.connection.vendor == "postgresql" else ""
    editor.execute(f"DROP TRIGGER {NAME}{where}")


class Migration(migrations.Migration):
    """A column that may be empty: SQLite adds it without making the table anew, which would drop triggers."""

    dependencies = [("datamill", "0008_fleet_workers")]

    operations = [
        migrations.AddField("fleetexperiment", "design_sha256", models.CharField(max_length=64, null=True)),
        migrations.RunPython(set_guard, lift_guard),
    ]
