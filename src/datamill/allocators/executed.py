"""Programs that were executed in a trace, and those of them that ran without the tracer.

The tracer's side is `crates/trace/src/executed`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from mmap import mmap

from datamill.experiment.messages.numbers import format_count

#: In the ledger's header: where the table is and how many entries it has room for, and executions without.
AT = 1832
_PLACE = struct.Struct("<3Q")
CAPACITY = 1024
#: Key, device, inode; processes that became it, loaded the tracer, were not asked to load it; whether the
#: path is there; the path.
_ENTRY = struct.Struct("<7Q456s")
SIZE = CAPACITY * _ENTRY.size


@dataclass(frozen=True, slots=True)
class ExecutedProgram:
    """A program that traced programs executed.

    Args:
        path: of its file; empty where that is not known.
        device: of its file.
        inode: of its file.
        executed: processes that became it.
        loaded: those that loaded the tracer then.
        bare: those whose environment did not ask for the tracer.
    """

    path: str
    device: int
    inode: int
    executed: int
    loaded: int
    bare: int


class Obstacle(Enum):
    """What keeps the tracer out of a program."""

    STATIC = "it is linked statically, so that nothing can be loaded into it"
    OTHER_LIBRARY = "it belongs to another C library than glibc, for which the tracer is not built"
    OTHER_PROCESSOR = "it is built for another processor or word size than the tracer"
    OTHER_RIGHTS = "it changes its rights as it starts (setuid), and then loads no library that others name"
    ENVIRONMENT = "it was executed with an environment in which LD_PRELOAD no longer names the tracer"
    UNKNOWN = "it did not load the tracer, for a reason that is not known"


@dataclass(frozen=True, slots=True)
class UnseenProgram:
    """A program of which nothing is counted.

    Args:
        path: of its file.
        processes: how many became it and did not load the tracer.
        obstacle: what kept the tracer out of it.
    """

    path: str
    processes: int
    obstacle: Obstacle


def plan_executed(offset: int) -> bytes:
    """Return what the ledger's header says of the table that begins at an offset in bytes."""
    return _PLACE.pack(offset, CAPACITY, 0)


def list_executed(ledger: bytes | mmap) -> Iterator[ExecutedProgram]:
    """Return the programs that were executed, as far as there was room for them."""
    offset, capacity, _ = _PLACE.unpack_from(ledger, AT)
    for number in range(capacity):
        entry = _ENTRY.unpack_from(ledger, offset + number * _ENTRY.size)
        key, device, inode, executed, loaded, bare, ready, path = entry
        if key and ready:
            name = path.split(b"\0")[0].decode(errors="replace")
            yield ExecutedProgram(name, device, inode, executed, loaded, bare)


def count_refused(ledger: bytes | mmap) -> int:
    """Return how many executions there was no room for."""
    refused: int = _PLACE.unpack_from(ledger, AT)[2]
    return refused


def add_first(programs: Sequence[ExecutedProgram], first: ExecutedProgram) -> list[ExecutedProgram]:
    """Return the programs with the one that the trace itself executed, which may be among them."""
    file = (first.device, first.inode)
    found = [program for program in programs if (program.device, program.inode) == file]
    others = [program for program in programs if program not in found]
    known = found[0] if found else first
    return [replace(known, executed=known.executed + 1), *others]


def list_unseen(program: ExecutedProgram, obstacle: Obstacle) -> Iterator[UnseenProgram]:
    """Say what of a program ran without the tracer.

    Args:
        program: it.
        obstacle: what its file says of the tracer; `Obstacle.UNKNOWN` where that may be loaded into it.
    """
    unseen = max(0, program.executed - program.loaded)
    # A file that cannot load the tracer does not do so for any environment.
    bare = min(unseen, program.bare) if obstacle is Obstacle.UNKNOWN else 0
    for processes, reason in ((bare, Obstacle.ENVIRONMENT), (unseen - bare, obstacle)):
        if processes:
            yield UnseenProgram(program.path, processes, reason)


def phrase_unseen(programs: Sequence[UnseenProgram]) -> Iterator[str]:
    """Say of which programs nothing is counted, and why: a sentence each, most processes first."""
    for program in sorted(programs, key=lambda program: (-program.processes, program.path)):
        count = program.processes
        processes = "1 process" if count == 1 else f"{format_count(count)} processes"
        yield f"{program.path}: nothing is counted in {processes}: {program.obstacle.value}."
    if any(program.obstacle is not Obstacle.ENVIRONMENT for program in programs):
        yield (
            "What programs without the tracer execute is counted where it loads the tracer; where it does "
            "not, it is not named here."
        )
