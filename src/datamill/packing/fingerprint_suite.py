"""The fingerprint suite that comes with datamill: an experiment of small programs, as a copy of one's own."""

from __future__ import annotations

import shutil
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.packing.shipped_packages import SHIPPED_FOLDER

SUITE_FOLDER = SHIPPED_FOLDER / "fingerprint"


def place_fingerprint_suite(folder: Path) -> tuple[str, ...]:
    """Copy the suite's experiment and its members to a new folder; returns the members' names.

    Raises:
        InputError: there is something at that place already, or the suite is not where it should be.
        OSError: the folder cannot be written.
    """
    if folder.exists():
        raise InputError("there is something already", where=str(folder), remedy="Name a new folder.")
    if not SUITE_FOLDER.is_dir():
        raise InputError(
            "the fingerprint suite is not there",
            where=str(SUITE_FOLDER),
            remedy="Install datamill again, or use its checkout.",
        )
    shutil.copytree(SUITE_FOLDER, folder)
    return tuple(sorted(path.name for path in (folder / "members").iterdir()))
