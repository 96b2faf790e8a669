"""A database that an earlier version made, put into any database at the migration that it had.

`made_at_0013.json.gz` was written by the version of 26 November 2026 at migration 0013: users, an experiment
that ended, its publication and one that was withdrawn, and a re-run of it whose trials are half done, as rows
of each table, and the files of its data folder, of which the archive of the publication is shortened.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, models, transaction
from django.db.migrations.loader import MigrationLoader

MADE = Path(__file__).parent / "made_at_0013.json.gz"


@dataclass(frozen=True)
class EarlierVersion:
    """What an earlier version left: keys of its users, its publications by what became of them, its clock."""

    keys: dict[str, str]
    publications: dict[str, str]
    now_s: float


def put_earlier_version(data: Path) -> EarlierVersion:
    """Take the empty database back to the earlier migration, and fill it and the folder as they were."""
    made = json.loads(gzip.decompress(MADE.read_bytes()))
    call_command("migrate", "datamill", made["migration"], verbosity=0)
    apps = MigrationLoader(connection).project_state([("datamill", made["migration"])]).apps
    with _without_triggers(), transaction.atomic():
        for name, rows in made["tables"].items():
            model: type[models.Model] = apps.get_model(name)
            values = [{field: _read(value) for field, value in row.items()} for row in rows]
            model._default_manager.bulk_create(model(**row) for row in values)
    for name, content in made["files"].items():
        file = data / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(content))
    return EarlierVersion(made["keys"], made["publications"], made["now_s"])


def migrate_to_newest() -> None:
    """Do what a start of today's version does with the tables."""
    call_command("migrate", verbosity=0, interactive=False)
    if connection.vendor == "postgresql":
        # Numbers go on behind those that were put in, as they do in a database that was in use.
        from django.apps import apps

        with connection.cursor() as cursor:
            for statement in connection.ops.sequence_reset_sql(no_style(), apps.get_models()):
                cursor.execute(statement)


def _read(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, content),) = value.items()
    readers: dict[str, Callable[[str], object]] = {
        "bytes": str.encode,
        "base64": base64.b64decode,
        "time": datetime.fromisoformat,
    }
    return readers[kind](content) if kind in readers else value


@contextlib.contextmanager
def _without_triggers() -> Iterator[None]:
    """Rows are put in as they were, whatever lifecycle they went through and whatever is counted of them."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET session_replication_role = replica")
            yield
            cursor.execute("SET session_replication_role = origin")
            return
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        triggers = cursor.fetchall()
        for name, _ in triggers:
            cursor.execute(f'DROP TRIGGER "{name}"')
        yield
        for _, definition in triggers:
            cursor.execute(definition)
