"""What could not be seen in a trace, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntFlag

from datamill.allocators.executed import UnseenProgram, phrase_unseen
from datamill.allocators.trace import TracedInterpreter, TracedNative
from datamill.experiment.messages.phrases import count_nouns


class State(IntFlag):
    """What the tracer says of an interpreter (`crates/trace/src/ledger/header.rs`)."""

    BEGAN = 1
    NO_POOLS = 2
    FREE_THREADED = 4
    UNKNOWN_VERSION = 8
    NO_FRAMES = 16
    REPLACED = 32
    NO_BEGINNING = 64
    NO_CACHE = 128
    NO_FAULTS = 256
    ASKED = 512
    OTHER_OBJECTS = 1024
    NO_TABLES = 2048
    NO_MAPS = 4096
    COMPILES = 8192


#: What limits the trace of one interpreter.
_LIMITS = {
    State.FREE_THREADED: "pools and arenas are not counted: it is a free-threaded build, whose allocator "
    "(mimalloc) has neither; the first growth of an empty list may be missing where a function of the "
    "interpreter had not been seen to resize lists",
    State.UNKNOWN_VERSION: "nothing is counted: this version of CPython is not one of 3.11 to 3.15",
    State.NO_POOLS: "pools and arenas are not counted: requests are served by another allocator than "
    "CPython's, as with PYTHONMALLOC=malloc",
    State.OTHER_OBJECTS: "nothing is counted: its objects do not begin as in other builds of this version",
    State.NO_TABLES: "resizes of lists, dictionaries and sets may be missing: one of each was resized for a "
    "trial, and not all were recognised",
    State.NO_MAPS: "large blocks that are mapped one by one are not counted: another allocator than "
    "glibc's serves them",
    State.COMPILES: "pools, arenas and maps in code that it compiled are counted in the function, without a "
    "line: its experimental compiler (JIT) is on, whose code does not say where it is; a comprehension over "
    "several lines may have its list_resize in another of them",
    State.NO_FRAMES: "lines are not told: its frames are not where they are in other builds of this version",
    State.REPLACED: "events after some moment are not counted: the program put another allocator in place",
    State.NO_BEGINNING: "nothing is counted: it never said that it begins a program. Either it found none to "
    "begin, as where a module is missing or only its version was asked for, or Python is part of another "
    "program: then mark what is to be counted with datamill.allocators.region, and count regions only",
}
#: What limits the trace of one native program.
_NATIVE_LIMITS = {
    State.NO_CACHE: "refills of thread caches are not counted: where this allocator keeps its free blocks "
    "could not be found out",
    State.NO_FAULTS: "page faults are not counted: the kernel lets only the privileged count them cheaply "
    "(kernel.perf_event_paranoid), or there were too many threads; where faults are asked for, the kernel is "
    "called twice for each request instead",
}

_NEVER_ASKED = (
    "nothing is counted: it asked for no memory through malloc and what is like it, because it needs "
    "none or because its allocator is linked into it"
)

#: What no trace of CPython sees.
ALWAYS = (
    "A set that shrinks into its own object, and a dictionary that grows into a table of eight that the "
    "interpreter kept, ask for no memory: such changes of size are not counted.",
    "Memory that extension modules and the C library map by themselves is not counted.",
)

#: What no trace of a native program sees.
ALWAYS_NATIVE = (
    "Native programs are traced in malloc, calloc, realloc, their aligned forms and operator new: what a "
    "program maps by itself, or takes from an allocator that is part of it, is not counted.",
    "Where glibc's main heap cannot be extended, it maps memory in its place, which is not counted.",
)

#: What latencies do not tell.
NOT_TIMED = (
    "An insertion into a dictionary or set that needs no memory makes no request, so that its latency is "
    "not in the table; of one that resizes there is resize_ns, where the old table is given back. With "
    "rights, uprobes at insertdict, set_add_entry and list_resize measure each call, in builds that keep "
    "these functions apart.",
    "Requests in the raw domain (PyMem_RawMalloc), and what is answered from the free lists of types, are "
    "not in the table of latencies.",
)


def list_invisible(
    interpreters: Sequence[TracedInterpreter],
    programs: Sequence[TracedNative],
    *,
    interpreter_count: int,
    program_count: int,
    unseen: Sequence[UnseenProgram],
    refused: tuple[int, int, int],
    regions: int | None,
) -> Iterator[str]:
    """Say what could not be seen, a sentence each.

    Args:
        interpreters: those that were written down.
        programs: native programs that were.
        interpreter_count: how many there were.
        program_count: how many native programs there were.
        unseen: programs that ran without the tracer.
        refused: lines, stacks and programs that were executed for which there was no room.
        regions: how often a region began; None where regions were not asked for.
    """
    yield from phrase_unseen(unseen)
    if interpreter_count == 0 and _looks_like_python(programs):
        yield (
            "No CPython was found in the program or its children: it is another implementation of Python, "
            "or its "
            "interpreter is linked so that its functions have no names. Its requests for memory are "
            "counted as "
            "those of a native program."
        )
    told: dict[str, list[int]] = {}
    for interpreter in interpreters:
        for state, limit in _LIMITS.items():
            # In regions an interpreter that begins none is no surprise.
            if interpreter.state & state:
                name = f"{interpreter.program} (Python {interpreter.version.split(' ')[0]})"
                told.setdefault(f"{name}: {limit}", []).append(interpreter.pid)
    for program in programs:
        name = f"{program.program} ({program.allocator or 'an unknown allocator'})"
        for state, limit in _NATIVE_LIMITS.items():
            if program.state & state:
                told.setdefault(f"{name}: {limit}", []).append(program.pid)
        if program.state & State.BEGAN and not program.state & State.ASKED:
            told.setdefault(f"{name}: {_NEVER_ASKED}", []).append(program.pid)
    for sentence, pids in told.items():
        processes = f"process {pids[0]}" if len(pids) == 1 else f"{len(pids)} processes"
        yield f"{sentence} ({processes})."
    for count, noun in (
        (interpreter_count - len(interpreters), "more interpreter"),
        (program_count - len(programs), "more native program"),
    ):
        if count > 0:
            these = "it" if count == 1 else "they"
            yield f"There was no room for {count_nouns(count, noun)}: what {these} could not show is unknown."
    if refused[0]:
        yield f"There was no room for more lines: {refused[0]} events are in the totals and in no line."
    if refused[1]:
        yield f"There was no room for more stacks: {refused[1]} events are in no stack."
    if refused[2]:
        yield (
            f"There was no room for more programs that were executed: {refused[2]} executions may have been "
            "without the tracer."
        )
    if regions == 0 and interpreter_count + program_count:
        yield "No region began: datamill.allocators.region or enable was not called. Nothing is counted."
    if interpreter_count or not program_count:
        yield from ALWAYS
    if program_count:
        yield from ALWAYS_NATIVE


def _looks_like_python(programs: Sequence[TracedNative]) -> bool:
    return any("py" in program.program.rsplit("/", 1)[-1].lower() for program in programs)
