"""The file in which traced processes count, as the tracer fills it."""

from __future__ import annotations

import struct

import pytest

from datamill.allocators.events import EVENTS
from datamill.allocators.ledger import list_native_places, plan_ledger, read_ledger, read_totals
from datamill.allocators.trace import Frame, TracedLine, TracedStack


def make_ledger(*, regions: bool = False) -> bytearray:
    """A ledger in which two lines of one function and a stack were written down."""
    plan = plan_ledger(stacks=True, regions=regions)
    ledger = bytearray(plan.header.ljust(plan.size, b"\0"))
    places = struct.unpack_from("<16Q", ledger, 16)
    frames, stacks, stack_frames, texts, interpreters, programs = (places[2 * table] for table in range(6))
    ledger[texts : texts + 8] = b"a.pymove"
    for number, (line, counts) in enumerate(((3, {4: 28}), (9, {0: 2, 4: 1}))):
        at = frames + 120 * number
        struct.pack_into("<6I", ledger, at, line, 1, 0, 4, 4, 4)
        for event, count in counts.items():
            struct.pack_into("<Q", ledger, at + 24 + 8 * event, count)
    # A process was killed while it wrote the third.
    struct.pack_into("<2I", ledger, frames + 240, 5, 0)
    # A native program's place: the offset 0x1149 in its file.
    ledger[texts + 8 : texts + 24] = b"0000000000001149"
    struct.pack_into("<6I", ledger, frames + 360, 0xFFFF_FFFF, 1, 4, 4, 8, 16)
    struct.pack_into("<Q", ledger, frames + 360 + 24 + 8 * 10, 3)
    struct.pack_into("<2I", ledger, programs, 18, 513)
    ledger[programs + 8 : programs + 18] = b"glibc 2.36"
    ledger[programs + 128 : programs + 137] = b"/bin/pypy"
    struct.pack_into("<2IQ", ledger, stacks, 2, 1, 0)
    struct.pack_into("<Q", ledger, stacks + 16 + 8 * 4, 28)
    struct.pack_into("<2I", ledger, stack_frames, 0, 1)
    struct.pack_into("<2I", ledger, interpreters, 17, 1)
    ledger[interpreters + 8 : interpreters + 14] = b"3.11.2"
    ledger[interpreters + 128 : interpreters + 134] = b"python"
    struct.pack_into("<12Q", ledger, 144, 4, 1, 2, 24, 2, 5, 1, 1, 0, 0, 0, 99)
    struct.pack_into("<Q", ledger, 240 + 8 * 4, 6)
    struct.pack_into("<Q", ledger, 368 + 8 * 4, 7)
    return ledger


def test_lines_stacks_and_totals_are_read() -> None:
    trace = read_ledger(bytes(make_ledger()))
    assert trace.lines == (
        TracedLine("list_resize", "a.py", 3, "move", 28),
        TracedLine("cache_refill", "move", 0, "0x1149", 3),
        TracedLine("pool_init", "a.py", 9, "move", 2),
        TracedLine("list_resize", "a.py", 9, "move", 1),
    )
    stack = (Frame("a.py", 3, "move"), Frame("a.py", 9, "move"))
    assert trace.stacks == (TracedStack("list_resize", stack, 28),)
    # Lines and what is in no line are in the totals; what happened outside the program is not.
    assert (trace.totals["list_resize"], trace.untold["list_resize"], trace.outside["list_resize"]) == (
        35,
        6,
        7,
    )
    assert trace.totals == read_totals(bytes(make_ledger()))
    assert set(trace.totals) == {event.name for event in EVENTS}
    assert (trace.loaded, trace.forks, trace.interpreter_count, trace.looked_at) == (2, 5, 1, 99)
    assert [program.allocator for program in trace.programs] == ["glibc 2.36"]
    assert (trace.interpreters[0].pid, trace.interpreters[0].version) == (17, "3.11.2")


def test_a_place_of_a_native_program_is_its_innermost_line_that_is_no_system_header() -> None:
    ledger = bytes(make_ledger())
    [place] = list_native_places(ledger)
    inlined = [
        Frame("/usr/include/c++/12/bits/new_allocator.h", 137, "allocate"),
        Frame("main.cpp", 12, "main"),
    ]
    trace = read_ledger(ledger, {place: inlined})
    assert TracedLine("cache_refill", "main.cpp", 12, "main", 3) in trace.lines


def test_tables_do_not_overlap_and_fit() -> None:
    plan = plan_ledger(stacks=False, regions=False)
    places = struct.unpack_from("<16Q", plan.header, 16)
    begins = places[::2]
    assert list(begins) == sorted(begins)
    assert begins[0] >= 4096
    for begin, room, entry, following in zip(
        begins, places[1::2], (120, 112, 4, 1, 512, 512, 16, 16), (*begins[1:], plan.size), strict=True
    ):
        assert begin + room * entry <= following


def test_another_file_is_no_ledger() -> None:
    ledger = make_ledger()
    ledger[0] = 0
    with pytest.raises(ValueError, match="no ledger"):
        read_ledger(bytes(ledger))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ((192, 0), "No CPython was found"),
        ((192, 300), "44 more interpreters"),
        ((208, 4), "4 events are in the totals and in no line"),
        ((216, 4), "4 events are in no stack"),
        ((1848, 4), "4 executions may have been"),
    ],
)
def test_what_could_not_be_seen_is_said(change: tuple[int, int], words: str) -> None:
    ledger = make_ledger()
    struct.pack_into("<Q", ledger, *change)
    assert any(words in sentence for sentence in read_ledger(bytes(ledger)).not_visible)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (3, "PYTHONMALLOC=malloc"),
        (4, "free-threaded"),
        (8, "3.11 to 3.15"),
        (17, "lines are not told"),
        (33, "another allocator in place"),
        (64, "never said that it begins"),
        (1024, "do not begin as in other builds"),
        (2049, "not all were recognised"),
        (4097, "large blocks that are mapped"),
        (8193, "experimental compiler"),
    ],
)
def test_what_limits_an_interpreter_is_said_with_its_name(state: int, words: str) -> None:
    ledger = make_ledger()
    [interpreters] = struct.unpack_from("<Q", ledger, 16 + 16 * 4)
    struct.pack_into("<2I", ledger, interpreters, 17, state)
    [sentence] = [text for text in read_ledger(bytes(ledger)).not_visible if words in text]
    assert sentence.startswith("python (Python 3.11.2): ")
    assert sentence.endswith("(process 17).")


@pytest.mark.parametrize(
    ("state", "words"),
    [(1, "asked for no memory"), (129 | 512, "refills of thread caches"), (257 | 512, "page faults are not")],
)
def test_what_limits_a_native_program_is_said_with_its_name_and_allocator(state: int, words: str) -> None:
    ledger = make_ledger()
    [programs] = struct.unpack_from("<Q", ledger, 16 + 16 * 5)
    struct.pack_into("<2I", ledger, programs, 18, state)
    [sentence] = [text for text in read_ledger(bytes(ledger)).not_visible if words in text]
    assert sentence.startswith("/bin/pypy (glibc 2.36): ")
    assert sentence.endswith("(process 18).")


def test_a_trace_of_regions_without_any_says_so() -> None:
    assert any(
        "No region began" in text for text in read_ledger(bytes(make_ledger(regions=True))).not_visible
    )
    assert not any("No region" in text for text in read_ledger(bytes(make_ledger())).not_visible)
