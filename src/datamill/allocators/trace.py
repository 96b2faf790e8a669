"""What a trace of a program's allocations found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TracedLine:
    """How often an event happened in a line of the program.

    `function` is the name of the function or `<module>`; `count` is a number of events.
    """

    event: str
    file: str
    line: int
    function: str
    count: int


@dataclass(frozen=True, slots=True)
class Frame:
    """A line of a function in a stack."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class TracedStack:
    """How often an event happened under a stack; `frames` begins with the innermost one."""

    event: str
    frames: tuple[Frame, ...]
    count: int


@dataclass(frozen=True, slots=True)
class TracedInterpreter:
    """An interpreter that was traced, or that could not be.

    Args:
        pid: its process.
        version: as the interpreter words it.
        program: path of its binary.
        state: bits of `visibility.State`.
    """

    pid: int
    version: str
    program: str
    state: int


@dataclass(frozen=True, slots=True)
class TracedNative:
    """A native program whose requests were looked at, or could not be.

    Args:
        pid: its process.
        allocator: name and version of the allocator that serves it; empty where that is not one that we know.
        program: path of its binary.
        state: bits of `visibility.State`.
    """

    pid: int
    allocator: str
    program: str
    state: int


@dataclass(frozen=True, slots=True)
class AllocationTrace:
    """Events of a traced program and all its children.

    Args:
        totals: number of events by name, in all lines; one for each of `events.EVENTS`.
        outside: events while interpreters started, compiled their program and ended; not in `totals`.
        untold: those of `totals` that are in no line of `lines`.
        lines: every line with every event that happened in it, most events first.
        stacks: whole stacks, where they were kept.
        interpreters: those that were traced, up to 256 of them.
        interpreter_count: how many there were.
        programs: native programs that were looked at, up to 256 of them.
        program_count: how many there were.
        loaded: programs into which the tracer was loaded.
        forks: children that traced programs forked.
        regions: how often a region began.
        looked_at: calls that were looked at closely to find out whose they are.
        not_visible: what could not be seen, a sentence each.
    """

    totals: dict[str, int]
    outside: dict[str, int]
    untold: dict[str, int]
    lines: tuple[TracedLine, ...]
    stacks: tuple[TracedStack, ...]
    interpreters: tuple[TracedInterpreter, ...]
    interpreter_count: int
    programs: tuple[TracedNative, ...]
    program_count: int
    loaded: int
    forks: int
    regions: int
    looked_at: int
    not_visible: tuple[str, ...]
