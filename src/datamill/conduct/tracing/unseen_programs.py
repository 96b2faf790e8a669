"""Programs of a trace that ran without the tracer, and what their files say of the reason."""

from __future__ import annotations

import os
import shutil
import stat
import struct
from collections.abc import Sequence
from contextlib import suppress
from mmap import mmap
from pathlib import Path

from datamill.allocators.executed import (
    ExecutedProgram,
    Obstacle,
    UnseenProgram,
    add_first,
    list_executed,
    list_unseen,
)

#: Scripts whose interpreters are scripts, one after another, as far as the kernel goes.
_MOST_SCRIPTS = 5
_PT_INTERP = 3


def find_unseen_programs(ledger: bytes | mmap, command: Sequence[str], tracer: Path) -> list[UnseenProgram]:
    """Return the programs that ran without the tracer.

    Args:
        ledger: in which traced programs wrote down what they executed.
        command: the program with which the trace began, and its arguments.
        tracer: the library that programs should have loaded.
    """
    programs = list(list_executed(ledger))
    if (first := _find_first(command[0])) is not None:
        programs = add_first(programs, first)
    unseen: list[UnseenProgram] = []
    for program in programs:
        if program.executed > program.loaded:
            unseen += list_unseen(program, find_obstacle(Path(program.path), tracer))
    return unseen


def _find_first(word: str) -> ExecutedProgram | None:
    """Return the binary that runs when a word is executed as a command; None where that cannot be told."""
    found = shutil.which(word)
    if found is None:
        return None
    path = Path(found)
    with suppress(OSError):
        for _ in range(_MOST_SCRIPTS):
            with path.open("rb") as file:
                line = file.read(256).split(b"\n")[0]
            if not line.startswith(b"#!") or not line[2:].split():
                break
            path = Path(os.fsdecode(line[2:].split()[0]))
        about = path.stat()
        return ExecutedProgram(str(path.resolve()), about.st_dev, about.st_ino, 0, 0, 0)
    return None


def find_obstacle(program: Path, tracer: Path) -> Obstacle:
    """Return what keeps the tracer out of a program, as far as its file says so."""
    with suppress(OSError, struct.error):
        wanted, found = _read_kind(tracer), _read_kind(program)
        if found is not None and found != wanted:
            return Obstacle.OTHER_PROCESSOR
        if found is not None:
            loader = _read_loader(program)
            if loader is None:
                return Obstacle.STATIC
            if not Path(loader).name.startswith("ld-linux"):
                return Obstacle.OTHER_LIBRARY
        if _changes_rights(program):
            return Obstacle.OTHER_RIGHTS
    return Obstacle.UNKNOWN


def _read_kind(path: Path) -> tuple[bytes, bytes] | None:
    """Word size, byte order and processor of a binary; None for any other file."""
    with path.open("rb") as file:
        head = file.read(20)
    return (head[4:6], head[18:20]) if head.startswith(b"\x7fELF") else None


def _read_loader(path: Path) -> str | None:
    """Return the dynamic linker that a binary of 64 bits names; None where it names none."""
    with path.open("rb") as file:
        head = file.read(64)
        (table,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(table)
        entries = file.read(size * count)
        for at in range(0, size * count, size):
            kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", entries, at)
            if kind == _PT_INTERP:
                file.seek(offset)
                return os.fsdecode(file.read(length).rstrip(b"\0"))
    return None


def _changes_rights(path: Path) -> bool:
    about = path.stat()
    changes_user = about.st_mode & stat.S_ISUID and about.st_uid != os.geteuid()
    changes_group = about.st_mode & stat.S_ISGID and about.st_gid != os.getegid()
    gains_capabilities = False
    if os.geteuid() != 0:
        with suppress(OSError):
            gains_capabilities = bool(os.getxattr(path, "security.capability"))
    return bool(changes_user or changes_group or gains_capabilities)
