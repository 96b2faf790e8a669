"""Copies of the database while it is in use; files are only added, and are copied after it."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.db import connection

from datamill.experiment.errors import InputError
from datamill.protocol.api.members.administration import BackupLine

#: Backups that are kept in the data folder; a further one takes the place of the oldest.
MOST_KEPT = 7
_FOLDER = "backups"
_making = threading.Lock()


def list_backups() -> list[BackupLine]:
    """Return the copies in the data folder, the latest first."""
    folder = Path(settings.DATA_FOLDER) / _FOLDER
    files = sorted(folder.glob("*.sqlite3"), reverse=True) if folder.is_dir() else []
    return [BackupLine(file.name, file.stat().st_size, file.stat().st_mtime) for file in files]


def make_backup(now_s: float) -> BackupLine:
    """Copy the database into the data folder, beside those who use it.

    Raises:
        InputError: when it is no SQLite file, or another copy is being made.
    """
    source = settings.DATABASES["default"]["NAME"]
    if connection.vendor != "sqlite" or not Path(source).is_file():
        raise InputError(
            "this database is not a file of ours",
            remedy="Use pg_dump; docs/howto/coordinator.md has the order.",
        )
    if not _making.acquire(blocking=False):
        raise InputError("a backup is being made already", remedy="Wait until it stands in the list.")
    try:
        folder = Path(settings.DATA_FOLDER) / _FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = folder / f"{datetime.fromtimestamp(now_s, UTC):%Y%m%dT%H%M%SZ}.sqlite3"
        copy_database(Path(source), target)
        for old in list_backups()[MOST_KEPT:]:
            (folder / old.name).unlink(missing_ok=True)
        return BackupLine(target.name, target.stat().st_size, target.stat().st_mtime)
    finally:
        _making.release()


def copy_database(source: Path, target: Path) -> None:
    """Copy an SQLite file that others may be writing to; whole, or not at all.

    Raises:
        InputError: when it is not sound.
    """
    part = target.with_suffix(".part")
    part.unlink(missing_ok=True)
    with (
        contextlib.closing(sqlite3.connect(source)) as live,
        contextlib.closing(sqlite3.connect(part)) as copy,
    ):
        live.backup(copy, pages=4096, sleep=0.005)
        (state,) = copy.execute("PRAGMA quick_check").fetchone()
    if state != "ok":
        part.unlink()
        raise InputError(f"the copy is not sound: {state}", remedy="Look at the disk, and try again.")
    part.chmod(0o600)
    part.replace(target)
