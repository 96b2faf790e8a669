"""The fingerprint suite that comes with datamill: an experiment of small programs, as a copy of one's own."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import zlib
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from datamill.experiment.errors import InputError
from datamill.packing.members import pack_members
from datamill.packing.shipped_packages import SHIPPED_FOLDER

SUITE_FOLDER = SHIPPED_FOLDER / "fingerprint"
#: Members are a few sources and scripts; whatever holds more is none.
MOST_MEMBER_BYTES = 1 << 20
_PIECE_BYTES = 1 << 16


def place_fingerprint_suite(folder: Path) -> tuple[str, ...]:
    """Copy the suite's experiment and its members to a new folder; returns the members' names.

    Raises:
        InputError: there is something at that place already, or the suite is not where it should be.
        OSError: the folder cannot be written.
    """
    if folder.exists():
        raise InputError("there is something already", where=str(folder), remedy="Name a new folder.")
    if not SUITE_FOLDER.is_dir():
        raise _refuse_missing()
    shutil.copytree(SUITE_FOLDER, folder)
    return tuple(sorted(path.name for path in (folder / "members").iterdir()))


@cache
def digest_suite() -> dict[str, str]:
    """Return the suite's members by the SHA-256 of what their archives hold, unpacked.

    Archives of the same files differ where libraries compress differently; what is in them does not.

    Raises:
        InputError: the suite is not where it should be.
    """
    if not SUITE_FOLDER.is_dir():
        raise _refuse_missing()
    found: dict[str, str] = {}
    with TemporaryDirectory(prefix="datamill-suite-") as folder:
        archive = Path(folder) / "member.tar.gz"
        for member in sorted((SUITE_FOLDER / "members").iterdir()):
            pack_members(member, archive)
            found[digest_content(archive)] = member.name
    return found


def digest_content(archive: Path) -> str:
    """Return the SHA-256 of what a `.tar.gz` holds; empty for no archive, or one larger than any member."""
    digest = hashlib.sha256()
    size = 0
    try:
        with gzip.open(archive) as content:
            while piece := content.read(_PIECE_BYTES):
                size += len(piece)
                if size > MOST_MEMBER_BYTES:
                    return ""
                digest.update(piece)
    except (OSError, EOFError, zlib.error):
        return ""
    return digest.hexdigest()


def _refuse_missing() -> InputError:
    return InputError(
        "the fingerprint suite is not there",
        where=str(SUITE_FOLDER),
        remedy="Install datamill again, or use its checkout.",
    )
