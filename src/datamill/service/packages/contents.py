"""What is in a package of the store: its files, and the text of its scripts."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.files.store import find_file
from datamill.service.submissions.planned_apart import INSPECTION

#: Scripts whose text is shown, in the order in which they run; `env` sets variables for them.
SCRIPTS = ("env", "setup.sh", "run.sh", "collect.sh")
#: Files that are listed, and characters of a script that are shown.
MOST_FILES, MOST_CHARACTERS = 200, 4000


@dataclass(frozen=True, slots=True)
class PackedFile:
    """A file of a package."""

    name: str
    size_bytes: int
    executable: bool


@dataclass(frozen=True, slots=True)
class ScriptText:
    """The beginning of a script; `cut` where there is more."""

    name: str
    text: str
    cut: bool


@dataclass(frozen=True, slots=True)
class PackageContents:
    """What a package holds: the first of its `count` files, `size_bytes` when unpacked, its scripts."""

    files: tuple[PackedFile, ...]
    count: int
    size_bytes: int
    scripts: tuple[ScriptText, ...]


@lru_cache(maxsize=256)
def read_contents(sha256: str) -> PackageContents:
    """Return what a package of the store holds; its bytes never change, so that it is read once.

    Raises:
        AwayError: the storage of files does not answer.
        BudgetError: reading it takes more than the coordinator gives.
        BusyError: too many archives are read already.
        InputError: it is not in the store any more, or cannot be read.
    """
    kept = find_file(sha256)
    if kept is None:
        raise InputError("the file is not in the store any more")
    with kept.at_hand() as path:
        found: PackageContents = call_bounded(INSPECTION, read_archive, path)
    return found


def read_archive(path: Path) -> PackageContents:
    """Return what an archive holds; runs in a process of its own.

    Raises:
        InputError: when it cannot be read.
    """
    files: list[PackedFile] = []
    scripts: dict[str, ScriptText] = {}
    count = size = 0
    try:
        with tarfile.open(path, mode="r:*") as tar:
            for member in tar:
                if not member.isreg():
                    continue
                name = member.name.removeprefix("./")
                count, size = count + 1, size + member.size
                if len(files) < MOST_FILES:
                    files.append(PackedFile(name, member.size, bool(member.mode & 0o111)))
                if name in SCRIPTS and (content := tar.extractfile(member)) is not None:
                    text = content.read(4 * MOST_CHARACTERS).decode("utf-8", "replace")
                    cut = len(text) > MOST_CHARACTERS or member.size > 4 * MOST_CHARACTERS
                    scripts[name] = ScriptText(name, text[:MOST_CHARACTERS], cut)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise InputError(f"the archive cannot be read: {error}") from None
    ordered = tuple(scripts[name] for name in SCRIPTS if name in scripts)
    return PackageContents(tuple(files), count, size, ordered)
