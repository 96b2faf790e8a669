"""Requests as the tracer writes them down, made into a table."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from datamill.allocators.events import EVENTS
from datamill.allocators.latencies import (
    CALL,
    AllocationLatencies,
    Clock,
    SlowLine,
    read_calls,
)
from datamill.allocators.ledger import plan_ledger, read_latencies
from datamill.allocators.trace import Frame
from datamill.allocators.visibility import State

BITS = {event.name: 1 << number for number, event in enumerate(EVENTS)}


def read(*rows: dict[str, Any], counter: int = 1, **asked: Any) -> AllocationLatencies:
    """Rows of requests of 40 bytes that took 100 ticks of a nanosecond, where nothing else is said."""
    usual = {"ticks": 100, "size": 40, "frame": 1, "pid": 7, "way": 1, "domain": 1}
    table = np.zeros(len(rows), CALL)
    for number, row in enumerate(rows):
        for name, value in {**usual, **row}.items():
            table[name][number] = value
    lines = {0: Frame("a.py", 3, "move")}
    clock = Clock(counter, 20, 1_000_000_000, 64.0)
    return read_calls(table, lines, seen=len(rows), limit=10, clock=clock, **asked)


def test_a_request_is_binned_where_the_allocator_took_its_slow_path() -> None:
    table = read(
        {},
        {"events": BITS["pool_init"]},
        {"events": BITS["pool_init"] | BITS["new_arena"] | BITS["memory_map"], "ticks": 9000},
        {"events": BITS["list_resize"], "way": 3, "domain": 2},
        {"events": BITS["dict_resize"], "growth": 700, "size": 600},
    ).table
    assert table["binned"].to_list() == [False, True, True, False, False]
    assert table["event"].to_list() == [
        None,
        "pool_init",
        "pool_init+new_arena+memory_map",
        "list_resize",
        "dict_resize",
    ]
    assert table["latency_ns"].to_list() == [100.0, 100.0, 9000.0, 100.0, 100.0]
    assert table["index"].to_list() == [0, 1, 2, 3, 4]
    assert table["size_class"].to_list() == [48, 48, 48, 48, None]
    assert table["resize_ns"].to_list() == [None, None, None, None, 700.0]
    assert table.row(3, named=True)["request"] == "realloc"
    assert table.row(3, named=True)["domain"] == "memory"
    assert table.columns[:4] == ["index", "latency_ns", "cycles", "binned"]


@pytest.mark.parametrize(("counter", "cycles"), [(1, [100]), (2, [100]), (3, [None])])
def test_cycles_are_there_where_the_counter_counts_them(counter: int, cycles: list[int | None]) -> None:
    assert read({}, counter=counter).table["cycles"].to_list() == cycles


def test_what_cannot_be_told_is_null_and_an_unfinished_row_is_left_out() -> None:
    table = read({"frame": 0}, {"domain": 0}, {"pid": 8}, without_pools=[8]).table
    assert table["line"].to_list() == [None, 3]
    assert table["file"].to_list() == [None, "a.py"]
    assert table["size_class"].to_list() == [48, None]
    assert table["index"].to_list() == [0, 1]


def test_a_ledger_has_the_first_requests_and_how_many_there_were() -> None:
    plan = plan_ledger(stacks=False, regions=False, latencies=2)
    assert plan.reserved[0] + plan.reserved[1] == plan.size
    ledger = bytearray(plan.header.ljust(plan.size, b"\0"))
    # Five requests, 50 ticks a reading, two ticks a nanosecond; the tracer took 16 to 19 ticks three times.
    struct.pack_into("<4Q", ledger, 496 + 16, 5, 1, 50, 2_000_000_000)
    struct.pack_into("<Q", ledger, 496 + 48 + 8 * 16, 3)
    rows = np.zeros(2, CALL)
    rows["ticks"], rows["domain"], rows["size"] = [30, 40], 1, 8
    ledger[plan.reserved[0] :] = rows.tobytes()
    found = read_latencies(bytes(ledger))
    assert (found.seen, found.limit) == (5, 2)
    assert found.table["latency_ns"].to_list() == [15.0, 20.0]
    assert (found.clock.cost_ns, found.clock.own_ns) == (25.0, 9.0)


@pytest.mark.parametrize("state", [State.NO_POOLS, State.FREE_THREADED], ids=lambda state: state.name)
def test_blocks_of_a_process_without_pools_have_no_size_class(state: State) -> None:
    plan = plan_ledger(stacks=False, regions=False, latencies=2)
    ledger = bytearray(plan.header.ljust(plan.size, b"\0"))
    struct.pack_into("<Q", ledger, 496 + 16, 2)
    [interpreters] = struct.unpack_from("<Q", ledger, 16 + 16 * 4)
    # Two interpreters that were traced; of the second there are no pools.
    struct.pack_into("<Q", ledger, 144 + 8 * 6, 2)
    struct.pack_into("<2I", ledger, interpreters, 7, State.BEGAN)
    struct.pack_into("<2I", ledger, interpreters + 512, 8, State.BEGAN | state)
    rows = np.zeros(2, CALL)
    rows["pid"], rows["domain"], rows["size"] = [7, 8], 1, 40
    ledger[plan.reserved[0] :] = rows.tobytes()
    assert read_latencies(bytes(ledger)).table["size_class"].to_list() == [48, None]


def test_a_ledger_without_requests_gives_a_table_without_rows() -> None:
    plan = plan_ledger(stacks=False, regions=False, latencies=4)
    found = read_latencies(plan.header.ljust(plan.size, b"\0"))
    assert found.table.height == 0
    assert found.clock.own_ns == 0


def test_time_in_slow_paths_is_summed_by_line() -> None:
    slow = BITS["pool_init"]
    found = read({"events": slow, "ticks": 50}, {"events": slow}, {}, {"events": slow, "frame": 0})
    assert found.find_slow_lines() == (SlowLine("a.py", 3, "move", 2, 150.0, 80),)


def test_page_faults_are_null_where_nobody_asked_for_them() -> None:
    assert read({"faults": 0}, {"faults": 1}, {"faults": 3}).table["page_faults"].to_list() == [None, 0, 2]
