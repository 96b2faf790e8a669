"""The coordinator's database: SQLite in memory, new for each seed, which can fail at any statement."""

from __future__ import annotations

import os
import random as random_module
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from random import Random
from typing import Any, Literal

#: Where the coordinator or its database dies: before a statement, which undoes its transaction, or just after
#: the commit of one.
HazardKind = Literal["crash_at_statement", "crash_after_commit", "database_restart", "commit_unanswered"]


class CoordinatorCrash(BaseException):
    """The coordinator's process was killed; no `Exception`, so that the code under test cannot go on."""


class Database:
    """One connection to an empty, migrated database; `begin` makes it so again in about a millisecond."""

    def __init__(self) -> None:
        os.environ["DATAMILL_SERVICE_DATABASE"] = "sqlite://"
        os.environ["DJANGO_SETTINGS_MODULE"] = "datamill.service.settings"
        import django
        from django.core.management import call_command
        from django.db import connection

        django.setup()
        call_command("migrate", verbosity=0)
        self._connection: Any = connection
        self._empty = sqlite3.connect(":memory:")
        connection.connection.backup(self._empty)
        self._hazard: HazardKind | None = None
        self._countdown = 0
        self.struck = False
        shorten_ways()
        commit = connection._commit
        connection._commit = lambda: self._after_commit(commit)  # type: ignore[method-assign]

    def begin(self) -> None:
        """Empty all tables."""
        from django.contrib.contenttypes.models import ContentType

        self._empty.backup(self._connection.connection)
        ContentType.objects.clear_cache()

    @contextmanager
    def hazard(self, kind: HazardKind | None, countdown: int) -> Iterator[None]:
        """Let something happen within, at the statement or the commit of that number, if it gets so far."""
        self._hazard, self._countdown, self.struck = kind, countdown, False
        if kind is not None:
            self._connection.execute_wrappers.append(self._before_statement)
        try:
            yield
        finally:
            self._hazard = None
            self._connection.execute_wrappers.clear()

    def read(self, sql: str, parameters: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Return rows past Django, for judges that share nothing with the code under test."""
        return self._connection.connection.execute(sql, parameters).fetchall()

    def count_changes(self) -> int:
        """Return how many rows were ever changed: where it is as it was, nothing did."""
        return int(self._connection.connection.total_changes)

    def _before_statement(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        if self._hazard in ("crash_at_statement", "database_restart") and not sql.startswith(
            ("BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK")
        ):
            self._countdown -= 1
            if self._countdown == 0:
                self._strike()
        return execute(sql, params, many, context)

    def _after_commit(self, commit: Callable[[], None]) -> None:
        commit()
        if self._hazard in ("crash_after_commit", "commit_unanswered"):
            self._countdown -= 1
            if self._countdown == 0:
                self._strike()

    def _strike(self) -> None:
        from django.db import OperationalError

        kind, self._hazard, self.struck = self._hazard, None, True
        if kind in ("crash_at_statement", "crash_after_commit"):
            raise CoordinatorCrash(kind)
        raise OperationalError("the database was restarted")


def shorten_ways() -> None:
    """Let Django find its only connection, and a cursor of it, without asking which thread it is in.

    It also keeps each statement as SQLite takes it, where Django converts it whenever it is executed.
    """
    from django.db import connections, transaction
    from django.db.backends.sqlite3 import base
    from django.db.backends.utils import CursorWrapper

    from datamill.service.coordinator.leasing import paces
    from datamill.service.coordinator.sharing import accounts_of_time
    from datamill.service.coordinator.state import rows

    real = connections["default"]
    rows.connection = paces.connection = accounts_of_time.connection = real  # type: ignore[assignment]
    transaction.get_connection = lambda _using=None: real
    real.cursor = lambda: CursorWrapper(real.create_cursor(), real)
    convert = base.SQLiteCursorWrapper.convert_query
    converted = lru_cache(maxsize=4096)(lambda sql: convert(None, sql))  # type: ignore[arg-type]
    base.SQLiteCursorWrapper.convert_query = (  # type: ignore[method-assign]
        lambda cursor, sql, *, param_names=None: (
            converted(sql) if param_names is None else convert(cursor, sql, param_names=param_names)
        )
    )


@contextmanager
def seeded_entropy(random: Random) -> Iterator[None]:
    """Draw what the code under test takes from the system (identities, secrets) from a seed instead.

    Otherwise names of workers, and with them the order of rows, would differ from one execution to the next.
    """
    system, module = os.urandom, random_module._urandom  # type: ignore[attr-defined]
    os.urandom = random_module._urandom = random.randbytes  # type: ignore[attr-defined]
    try:
        yield
    finally:
        os.urandom, random_module._urandom = system, module  # type: ignore[attr-defined]
