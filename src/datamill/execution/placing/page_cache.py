"""The pages of memory in which the kernel keeps a program's file, drawn anew.

Two equal files may be executed in times that differ by a quarter, for as long as each lies where it is: of
sixteen copies of a loop on an AMD EPYC two took 2% and 25% less than all others, until they were read again.
What lies in one place for all of an experiment is a difference that nobody made; placed anew for each
execution or round it is noise that intervals know of.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from datamill.experiment.command_lines import SHELL

#: What is read at once, and what is held meanwhile.
_READ_BYTES = 4 << 20
#: Larger programs take long to be read again, alone and together.
_LARGEST_BYTES, _MOST_BYTES = 64 << 20, 256 << 20


def place_anew(programs: Iterable[Path]) -> None:
    """Have the kernel keep programs in other pages of its memory.

    What other processes execute as well stays where it is, and so does all of a file system that is memory.
    What cannot be read is left alone, as are programs of more than 64 MB, or of more than 256 MB together.
    Nothing that others see changes: the files are read again at once.
    """
    sizes = {path: size for path in programs if 0 < (size := _find_size(path)) <= _LARGEST_BYTES}
    chosen = list(sizes) if can_place(sizes) else []
    for path in chosen:
        with contextlib.suppress(OSError), path.open("rb") as file:
            # Pages that are not on disk yet would stay.
            os.fsync(file)
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    # Pages that were given back last are taken first: these keep the kernel from taking the same ones.
    held = b"\1" * _READ_BYTES
    for path in chosen:
        with contextlib.suppress(OSError), path.open("rb") as file:
            while file.read(_READ_BYTES):
                pass
    del held


def can_place(programs: Iterable[Path]) -> bool:
    """Return whether `place_anew` places all of them, and not some or none."""
    sizes = [_find_size(path) for path in programs]
    return max(sizes, default=0) <= _LARGEST_BYTES and sum(sizes) <= _MOST_BYTES


def _find_size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0


def find_program(words: Sequence[str], folder: Path) -> Path | None:
    """Return the file of the compiled program that a command begins with; None where it cannot be told.

    Args:
        words: what is executed; behind a shell its first word counts.
        folder: where it is.
    """
    if tuple(words[:2]) == (SHELL, "-c"):
        try:
            words = shlex.split(words[2])
        except ValueError:
            return None
    if not words:
        return None
    found = str(folder / words[0]) if "/" in words[0] else shutil.which(words[0])
    with contextlib.suppress(OSError):
        if found and Path(found).is_file():
            with Path(found).open("rb") as file:
                return Path(found).resolve() if file.read(4) == b"\x7fELF" else None
    return None
