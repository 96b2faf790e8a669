"""The file in which traced processes count, as the tracer fills it."""

from __future__ import annotations

import struct

import pytest

from datamill.allocators.events import EVENTS
from datamill.allocators.ledger import plan_ledger, read_ledger, read_totals
from datamill.allocators.trace import Frame, TracedLine, TracedStack


def make_ledger(*, regions: bool = False) -> bytearray:
    """A ledger in which two lines of one function and a stack were written down."""
    plan = plan_ledger(stacks=True, regions=regions)
    ledger = bytearray(plan.header.ljust(plan.size, b"\0"))
    places = struct.unpack_from("<14Q", ledger, 16)
    frames, stacks, stack_frames, texts, interpreters = (places[2 * table] for table in range(5))
    ledger[texts : texts + 8] = b"a.pymove"
    for number, (line, counts) in enumerate(((3, {4: 28}), (9, {0: 2, 4: 1}))):
        at = frames + 120 * number
        struct.pack_into("<6I", ledger, at, line, 1, 0, 4, 4, 4)
        for event, count in counts.items():
            struct.pack_into("<Q", ledger, at + 24 + 8 * event, count)
    # A process was killed while it wrote the third.
    struct.pack_into("<2I", ledger, frames + 240, 5, 0)
    struct.pack_into("<2IQ", ledger, stacks, 2, 1, 0)
    struct.pack_into("<Q", ledger, stacks + 16 + 8 * 4, 28)
    struct.pack_into("<2I", ledger, stack_frames, 0, 1)
    struct.pack_into("<2I", ledger, interpreters, 17, 1)
    ledger[interpreters + 8 : interpreters + 14] = b"3.11.2"
    ledger[interpreters + 128 : interpreters + 134] = b"python"
    struct.pack_into("<11Q", ledger, 128, 3, 1, 2, 8, 2, 5, 1, 0, 0, 0, 99)
    struct.pack_into("<Q", ledger, 216 + 8 * 4, 6)
    struct.pack_into("<Q", ledger, 344 + 8 * 4, 7)
    return ledger


def test_lines_stacks_and_totals_are_read() -> None:
    trace = read_ledger(bytes(make_ledger()))
    assert trace.lines == (
        TracedLine("list_resize", "a.py", 3, "move", 28),
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
    assert (trace.interpreters[0].pid, trace.interpreters[0].version) == (17, "3.11.2")


def test_tables_do_not_overlap_and_fit() -> None:
    plan = plan_ledger(stacks=False, regions=False)
    places = struct.unpack_from("<14Q", plan.header, 16)
    begins = places[::2]
    assert list(begins) == sorted(begins)
    assert begins[0] >= 4096
    for begin, room, entry, following in zip(
        begins, places[1::2], (120, 112, 4, 1, 512, 16, 16), (*begins[1:], plan.size), strict=True
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
        ((160, 0), "did not load the tracer"),
        ((176, 0), "No CPython was found"),
        ((176, 300), "44 more interpreters"),
        ((184, 4), "4 events are in the totals and in no line"),
        ((192, 4), "4 events are in no stack"),
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
        (8, "3.11 to 3.14"),
        (17, "lines are not told"),
        (33, "another allocator in place"),
        (64, "never said that it begins"),
    ],
)
def test_what_limits_an_interpreter_is_said_with_its_name(state: int, words: str) -> None:
    ledger = make_ledger()
    [interpreters] = struct.unpack_from("<Q", ledger, 16 + 16 * 4)
    struct.pack_into("<2I", ledger, interpreters, 17, state)
    [sentence] = [text for text in read_ledger(bytes(ledger)).not_visible if words in text]
    assert sentence.startswith("python (Python 3.11.2): ")
    assert sentence.endswith("(process 17).")


def test_a_trace_of_regions_without_any_says_so() -> None:
    assert any(
        "No region began" in text for text in read_ledger(bytes(make_ledger(regions=True))).not_visible
    )
    assert not any("No region" in text for text in read_ledger(bytes(make_ledger())).not_visible)
