"""Where a new bundle may be made."""

from __future__ import annotations

import os
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument


def check_bundle_place(folder: Path, *, verb: str = "run") -> None:
    """Refuse a place where no new bundle can be made, such as before anything is measured.

    Args:
        folder: where it would be.
        verb: that asks for it, whose `--out` the remedy names.

    Raises:
        InputError: when it is no folder, is not empty, or cannot be made.
    """
    remedy = f"Name another one with {argument('out', verb=verb)}."
    if folder.exists() and not folder.is_dir():
        raise InputError("this is not a folder", where=str(folder), remedy=remedy)
    if folder.exists() and any(folder.iterdir()):
        if verb == "run":
            resume = argument("resume", verb=verb)
            remedy = f"{remedy[:-1]}, or continue an interrupted experiment with {resume}."
        raise InputError("the folder exists and is not empty", where=str(folder), remedy=remedy)
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise InputError(
            f"this folder cannot be made: {above} is not a folder that you may write to",
            where=str(folder),
            remedy=remedy,
        )
