"""Versions of a project, what became of them, and what was measured of their programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

#: What became of a version: its programs are known, it does not build, or its programs cannot be read.
Outcome = Literal["built", "failed", "unreadable"]


class Version(msgspec.Struct, frozen=True):
    """A commit that was collected.

    `order` is its place among the collected ones, `ancestor` the closest of these that it descends from (of
    those whose programs are known), and `hops`, `days`, `lines` and `speed_words` what lies between them:
    commits, days, changed lines, commits whose message speaks of speed. `program` names what its binaries
    hold; versions of one program are measured once. `reason` says why it failed, `build` by what it was built
    (`kept_commands.spell_build`; empty where that was not written down).
    """

    commit: str
    order: int
    outcome: Outcome
    subject: str = ""
    committed_unix_s: int = 0
    parents: tuple[str, ...] = ()
    program: str = ""
    reason: str = ""
    build_s: float = 0.0
    ancestor: str = ""
    hops: int = 0
    days: float = 0.0
    lines: int = 0
    speed_words: int = 0
    build: str = ""


class Program(msgspec.Struct, frozen=True):
    """What a version's binaries hold: for each path the name of its function table."""

    name: str
    tables: Mapping[str, str]


class Observation(msgspec.Struct, frozen=True):
    """One execution of a benchmark of a program.

    `session` are executions in one random order, `place` the place in it. `failure` is empty where the
    command ended well; values are then not None. `machine` is the one of a fleet that executed it; empty for
    the one that collects.
    """

    program: str
    benchmark: str
    session: str
    place: int
    started_unix_ns: int
    wall_ns: int | None = None
    user_ns: int | None = None
    system_ns: int | None = None
    peak_memory_bytes: int | None = None
    failure: str = ""
    machine: str = ""


#: How instructions are counted today: of processes that execute the programs, with the same variables
#: everywhere. In way 2 load generators and scripts counted too, in way 1 with the variables of the caller.
COUNTED_WAY = 3


class WorkCount(msgspec.Struct, frozen=True):
    """Instructions that a benchmark's processes executed, as the profiler counted them on `machine`.

    Those processes are meant that execute the programs. `way` is how it was counted: counts of two ways
    differ where the program does not. `again` is what a second count gave; None where there was none.
    """

    program: str
    benchmark: str
    instructions: int | None
    failure: str = ""
    machine: str = ""
    way: int = 1
    again: int | None = None
