"""Writing a file so that nobody ever finds half of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file so that whoever looks finds the old one or the new one, whole.

    Raises:
        OSError: when the disk is full or the folder cannot be written; the old file stays.
    """
    partial = path.with_name(f".{path.name}")
    try:
        with partial.open("wb") as handle:
            handle.writelines(pieces)
            handle.flush()
            os.fsync(handle.fileno())
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        # Whoever reads the message knows the file, not its draft.
        error.filename, error.filename2 = str(path), None
        raise


def write_file(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file that must be there, whole, even after a power cut.

    Raises:
        OSError: when the disk is full or the folder cannot be written; the old file stays.
    """
    replace_file(path, pieces)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
