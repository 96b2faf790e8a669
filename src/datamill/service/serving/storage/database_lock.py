"""Only one coordinator at a time on a database.

On PostgreSQL the lock lives and dies with the connection that writes: a coordinator that lost its connection
lost the lock, and takes it again before it writes again. An SQLite file is in a data folder, which is locked.
"""

from __future__ import annotations

import time
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from datamill.experiment.errors import InputError

#: Any number that no other program on the database takes.
_LOCK_NUMBER = int.from_bytes(b"datamill", "big") >> 1
#: PostgreSQL notices a moment later that a connection is closed, or a coordinator was killed.
_PATIENCE_S = 3.0
_HELD_BY = "_datamill_lock_of"


class DatabaseTakenError(InputError):
    """Another coordinator works on the database."""


def hold_database(connection: BaseDatabaseWrapper) -> None:
    """Make sure that this connection holds the lock of its database.

    Raises:
        DatabaseTakenError: when another coordinator has it.
        django.db.Error: when the database cannot be reached.
    """
    if connection.vendor != "postgresql":
        return
    connection.ensure_connection()
    raw: Any = connection.connection
    if getattr(connection, _HELD_BY, None) is raw:
        return
    deadline_s = time.monotonic() + _PATIENCE_S
    while not _try_lock(connection):
        if time.monotonic() < deadline_s:
            time.sleep(0.1)
            continue
        raise DatabaseTakenError(
            "another coordinator works on this database",
            where="--database",
            remedy="Stop it first, or name another database; two coordinators would lease the same trials.",
        )
    setattr(connection, _HELD_BY, raw)


def _try_lock(connection: BaseDatabaseWrapper) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK_NUMBER])
        (held,) = cursor.fetchone()
    return bool(held)
