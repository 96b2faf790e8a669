"""The file in which traced processes count: how it is laid out, and what is in it.

The tracer's side is `crates/trace/src/ledger`. All numbers are little-endian; tables that are not full are
holes in the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from mmap import mmap
from typing import Any

import numpy as np

from datamill.allocators import executed
from datamill.allocators.events import EVENTS
from datamill.allocators.executed import UnseenProgram
from datamill.allocators.latencies import CALL, AllocationLatencies, Clock, read_calls
from datamill.allocators.native_places import (
    LinesOfPlaces,
    NativePlace,
    choose_line,
    find_place,
    list_lines,
    list_places,
)
from datamill.allocators.served import ServedRequests, read_served
from datamill.allocators.trace import (
    AllocationTrace,
    Frame,
    TracedInterpreter,
    TracedLine,
    TracedNative,
    TracedStack,
)
from datamill.allocators.visibility import State, list_invisible

_MAGIC = b"DMLEDGER"
_VERSION = 4
_PAGE = 4096
#: What is asked of the tracer, as bits.
_WANTS_STACKS, _WANTS_REGIONS, _WANTS_LATENCIES, _WANTS_FAULTS, _WANTS_SERVED = 1, 2, 4, 8, 16
#: Magic, version, wishes; then, for each table, its offset and how many entries it has room for.
_HEADER = struct.Struct("<8sII16Q")
_COUNTERS_AT = 144
#: Used frames, stacks, frames of stacks, texts; loaded, forks, interpreters, native programs, frames and
#: stacks refused, regions, calls that were looked at.
_COUNTERS = struct.Struct("<12Q")
_UNTOLD_AT, _OUTSIDE_AT = 240, 368
#: Requests: where they are, how many there is room for and there were; the kind of counter, what a reading
#: costs in ticks, ticks in a second; then how often the tracer itself took so many ticks, four buckets for
#: each doubling.
_LATENCIES_AT = 496
_LATENCIES = struct.Struct("<6Q160Q")
#: Line, ready, begin and length of the file's name and of the function's.
_FRAME = struct.Struct("<IIIIII")
#: Depth, ready, begin.
_STACK = struct.Struct("<IIQ")
_INTERPRETER = struct.Struct("<II120s384s")
_COUNTED = 12 * 8
_COUNTS = struct.Struct(f"<{len(EVENTS)}Q")
#: Frames, stacks, frames of stacks, texts, interpreters, native programs, and where frames and stacks are
#: found by their hash:
#: entries of each table, and bytes of each entry.
_TABLES = (
    (1 << 16, _FRAME.size + _COUNTED),
    (1 << 16, _STACK.size + _COUNTED),
    (1 << 22, 4),
    (1 << 24, 1),
    (256, _INTERPRETER.size),
    (256, _INTERPRETER.size),
    (1 << 17, 16),
    (1 << 17, 16),
)
_FRAMES, _STACKS, _STACK_FRAMES, _TEXTS, _INTERPRETERS, _PROGRAMS = range(6)


@dataclass(frozen=True, slots=True)
class LedgerPlan:
    """A ledger without entries: its first bytes, its size in bytes, and what of it is certain to be
    written.
    """

    header: bytes
    size: int
    reserved: tuple[int, int] = (0, 0)


def plan_ledger(
    *, stacks: bool, regions: bool, latencies: int = 0, faults: bool = False, served: bool = False
) -> LedgerPlan:
    """Lay out a ledger.

    Args:
        stacks: whether whole stacks are kept.
        regions: whether nothing is counted outside regions.
        latencies: requests whose latency is kept.
        faults: whether the kernel is asked for page faults: of each of them, and of native programs.
        served: whether latencies are those of requests that servers answer, in place of the allocator's.
    """
    places, offset = [], _PAGE
    for capacity, size in _TABLES:
        places += [offset, capacity]
        offset += -(-capacity * size // _PAGE) * _PAGE
    wishes = _WANTS_STACKS * stacks | _WANTS_REGIONS * regions | _WANTS_LATENCIES * bool(latencies)
    wishes |= _WANTS_FAULTS * faults | _WANTS_SERVED * bool(latencies and served)
    header = _HEADER.pack(_MAGIC, _VERSION, wishes, *places)
    rows, length = offset + executed.SIZE, latencies * CALL.itemsize
    header = header.ljust(_LATENCIES_AT, b"\0") + struct.pack("<2Q", rows, latencies)
    header = header.ljust(executed.AT, b"\0") + executed.plan_executed(offset)
    return LedgerPlan(header, rows + length, (rows, length))


def read_latencies(ledger: bytes | mmap, lines_of_places: LinesOfPlaces | None = None) -> AllocationLatencies:
    """Return the latencies that a ledger holds; arguments as those of `read_ledger`."""
    rows, seen, capacity, clock = _read_rows(ledger)
    lines = {number: _find_line(frame, lines_of_places or {}) for number, frame, _ in _list_frames(ledger)}
    count = _COUNTERS.unpack_from(ledger, _COUNTERS_AT)[6]
    interpreters = _list_interpreters(ledger, _INTERPRETERS, count)
    # The allocator of a free-threaded build has no pools either.
    poolless = State.NO_POOLS | State.FREE_THREADED
    without = [found.pid for found in interpreters if found.state & poolless]
    return read_calls(rows, lines, seen=seen, limit=capacity, clock=clock, without_pools=without)


def read_served_requests(ledger: bytes | mmap) -> ServedRequests:
    """Return the requests that servers answered."""
    rows, seen, capacity, clock = _read_rows(ledger)
    lines = {number: frame for number, frame, _ in _list_frames(ledger)}
    return read_served(rows, lines, seen=seen, limit=capacity, clock=clock)


def _read_rows(ledger: bytes | mmap) -> tuple[np.ndarray[Any, Any], int, int, Clock]:
    """Rows that were kept, how many there were and how many there is room for, and the clock."""
    offset, capacity, seen, counter, cost, rate, *own = _LATENCIES.unpack_from(ledger, _LATENCIES_AT)
    kept = min(seen, capacity)
    rows = np.frombuffer(ledger, CALL, kept, offset).copy() if kept else np.empty(0, CALL)
    return rows, seen, capacity, Clock(counter, cost, rate, _find_median(own))


def read_totals(ledger: bytes | mmap) -> dict[str, int]:
    """Return the number of events so far, by name."""
    totals = list(_COUNTS.unpack_from(ledger, _UNTOLD_AT))
    for _, _, counts in _list_frames(ledger):
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
    return _name(totals)


def list_native_places(ledger: bytes | mmap) -> list[NativePlace]:
    """Return the places of native programs whose lines have to be found."""
    return list_places(frame for _, frame, _ in _list_frames(ledger))


def read_ledger(
    ledger: bytes | mmap,
    lines_of_places: LinesOfPlaces | None = None,
    unseen: Sequence[UnseenProgram] = (),
) -> AllocationTrace:
    """Return all that a ledger holds.

    Args:
        ledger: its bytes.
        lines_of_places: lines of native programs, as far as they were found.
        unseen: programs that ran without the tracer.

    Raises:
        ValueError: it is no ledger of this version.
    """
    magic, version, wishes, *_ = _HEADER.unpack_from(ledger)
    if magic != _MAGIC or version != _VERSION:
        raise ValueError("no ledger of this version")
    counters = _COUNTERS.unpack_from(ledger, _COUNTERS_AT)
    loaded, forks, interpreter_count, program_count, *refused, regions, looked_at = counters[4:]
    frames = {number: frame for number, frame, _ in _list_frames(ledger)}
    places = lines_of_places or {}
    # Several places of a native program may be in one line.
    by_line: dict[tuple[str, Frame], int] = {}
    for _, frame, counts in _list_frames(ledger):
        line = _find_line(frame, places)
        for event, count in zip(EVENTS, counts, strict=True):
            if count:
                by_line[event.name, line] = by_line.get((event.name, line), 0) + count
    lines = [
        TracedLine(event, line.file, line.line, line.function, count)
        for (event, line), count in by_line.items()
    ]
    interpreters = tuple(_list_interpreters(ledger, _INTERPRETERS, interpreter_count))
    programs = tuple(
        TracedNative(found.pid, found.version, found.program, found.state)
        for found in _list_interpreters(ledger, _PROGRAMS, program_count)
    )
    return AllocationTrace(
        totals=read_totals(ledger),
        outside=_name(_COUNTS.unpack_from(ledger, _OUTSIDE_AT)),
        untold=_name(_COUNTS.unpack_from(ledger, _UNTOLD_AT)),
        lines=tuple(sorted(lines, key=lambda line: (-line.count, line.event, line.file, line.line))),
        stacks=tuple(sorted(_list_stacks(ledger, frames, places), key=lambda stack: -stack.count)),
        interpreters=interpreters,
        interpreter_count=interpreter_count,
        programs=programs,
        program_count=program_count,
        loaded=loaded,
        forks=forks,
        regions=regions,
        looked_at=looked_at,
        not_visible=tuple(
            list_invisible(
                interpreters,
                programs,
                interpreter_count=interpreter_count,
                program_count=program_count,
                unseen=unseen,
                refused=(refused[0], refused[1], executed.count_refused(ledger)),
                regions=regions if wishes & _WANTS_REGIONS else None,
            )
        ),
    )


def _find_median(counts: list[int]) -> float:
    """The middle of the bucket that half of all times are below or in; 0 without times."""
    half, passed = sum(counts) / 2, 0
    for bucket, count in enumerate(counts):
        passed += count
        if count and passed >= half:
            return float(2 ** (bucket // 4) * (1 + (bucket % 4 + 0.5) / 4))
    return 0.0


def _find_table(ledger: bytes | mmap, table: int) -> tuple[int, int]:
    """Where a table begins, and how many entries it has room for."""
    places = _HEADER.unpack_from(ledger)[3:]
    return places[2 * table], places[2 * table + 1]


def _list_frames(ledger: bytes | mmap) -> Iterator[tuple[int, Frame, tuple[int, ...]]]:
    texts, _ = _find_table(ledger, _TEXTS)

    def read_text(begin: int, length: int) -> str:
        return ledger[texts + begin : texts + begin + length].decode(errors="replace")

    for number, at in _list_rows(ledger, _FRAMES):
        line, ready, file, file_length, function, function_length = _FRAME.unpack_from(ledger, at)
        if ready:
            frame = Frame(read_text(file, file_length), line, read_text(function, function_length))
            yield number, frame, _COUNTS.unpack_from(ledger, at + _FRAME.size)


def _find_line(frame: Frame, places: LinesOfPlaces) -> Frame:
    place = find_place(frame)
    return frame if place is None else choose_line(place, places)


def _list_frames_of(frame: Frame, places: LinesOfPlaces) -> Sequence[Frame]:
    """The frame, and those that the compiler put into its place."""
    place = find_place(frame)
    return [frame] if place is None else list_lines(place, places)


def _list_stacks(
    ledger: bytes | mmap, frames: dict[int, Frame], places: LinesOfPlaces
) -> Iterator[TracedStack]:
    all_frames, _ = _find_table(ledger, _STACK_FRAMES)
    for _, at in _list_rows(ledger, _STACKS):
        depth, ready, begin = _STACK.unpack_from(ledger, at)
        if not ready:
            continue
        numbers = struct.unpack_from(f"<{depth}I", ledger, all_frames + 4 * begin)
        stack = tuple(frame for number in numbers for frame in _list_frames_of(frames[number], places))
        counts = _COUNTS.unpack_from(ledger, at + _STACK.size)
        for event, count in zip(EVENTS, counts, strict=True):
            if count:
                yield TracedStack(event.name, stack, count)


def _list_rows(ledger: bytes | mmap, table: int) -> Iterator[tuple[int, int]]:
    """Numbers of the rows of a table that are used, and where each begins."""
    offset, capacity = _find_table(ledger, table)
    used = _COUNTERS.unpack_from(ledger, _COUNTERS_AT)[table]
    size = _TABLES[table][1]
    for number in range(min(used, capacity)):
        yield number, offset + number * size


def _list_interpreters(ledger: bytes | mmap, table: int, count: int) -> Iterator[TracedInterpreter]:
    offset, capacity = _find_table(ledger, table)
    for number in range(min(count, capacity)):
        pid, state, *texts = _INTERPRETER.unpack_from(ledger, offset + number * _INTERPRETER.size)
        version, program = (text.split(b"\0")[0].decode(errors="replace") for text in texts)
        yield TracedInterpreter(pid, version, program, state)


def _name(counts: tuple[int, ...] | list[int]) -> dict[str, int]:
    return {event.name: count for event, count in zip(EVENTS, counts, strict=True)}
