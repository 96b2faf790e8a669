"""Latencies of a traced program are those of its requests, each in its line, and slow where it was binned."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from running.interpreters import has_pools, is_free_threaded, list_interpreters

from datamill.conduct.tracing.trace_allocations import TracedProgram, trace_allocations

INTERPRETERS = pytest.mark.parametrize("version", list_interpreters())
#: Listing 2.2 of the thesis, then a dictionary and a set that grow.
PROGRAM = """\
def work():
    kept = []
    for number in range(2000):
        kept.append(bytearray(256))
    table = {}
    for number in range(2000):
        table[number] = number
    unique = set()
    for number in range(2000):
        unique.add(number)
work()
"""

#: A hundred threads that are there at the same time, each with a list that grows to 1000 items.
THREADS = """\
import threading
all_are_here = threading.Barrier(100)
def work():
    kept = []
    for number in range(1000):
        kept.append(number)
        if number % 100 == 0:
            all_are_here.wait()
threads = [threading.Thread(target=work) for _ in range(100)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def trace(tmp_path: Path, version: str, program: str, *, calls: int = 200_000) -> TracedProgram:
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    traced = trace_allocations([list_interpreters()[version], str(script)], latencies=calls)
    assert traced.status == 0
    return traced


@INTERPRETERS
def test_requests_are_all_there_and_their_events_are_those_of_the_totals(
    tmp_path: Path, version: str
) -> None:
    traced = trace(tmp_path, version, PROGRAM)
    assert traced.latencies is not None
    table = traced.latencies.table
    assert table["index"].to_list() == list(range(traced.latencies.seen))
    for event, total in traced.trace.totals.items():
        assert table.filter(pl.col("event").str.split("+").list.contains(event)).height == total, event
    in_line = table.filter(pl.col("file").str.ends_with("program.py") & (pl.col("line") == 4))
    # The object and its bytes, which are an object as well from 3.15 on.
    assert 2000 <= in_line.filter(pl.col("size").is_in([257, 289])).height <= 2001
    assert in_line.filter(pl.col("event") == "list_resize").height >= 30
    medians = dict(table.group_by("binned").agg(pl.col("latency_ns").median()).iter_rows())
    assert medians[False] >= 0
    if has_pools(list_interpreters()[version]):
        assert medians[False] < medians[True]
    # All tables but the first, which is in the set itself, are given back.
    for event, line in (("dict_resize", 7), ("set_resize", 10)):
        grown = table.filter(pl.col("event").str.contains(event) & (pl.col("line") == line))
        assert grown["resize_ns"].null_count() <= 1
        assert (grown["resize_ns"].drop_nulls() >= grown["latency_ns"].min()).all()
    assert 0 < traced.latencies.clock.cost_ns < 1000


@INTERPRETERS
def test_events_of_a_hundred_threads_are_each_in_its_own_request(tmp_path: Path, version: str) -> None:
    traced = trace(tmp_path, version, THREADS)
    assert traced.latencies is not None
    table = traced.latencies.table
    grown = table.filter(pl.col("event").str.contains("list_resize") & pl.col("line").is_not_null())
    in_line = grown.filter(pl.col("file").str.ends_with("program.py") & (pl.col("line") == 6))
    assert in_line.height == 100 * 28
    # A list's items, with their room before them in a free-threaded build.
    assert (in_line["size"] % 8 == 0).all()
    assert in_line["size"].min() == 32 + 8 * is_free_threaded(list_interpreters()[version])
    assert in_line["domain"].unique().to_list() == ["memory"]


def test_later_requests_than_there_is_room_for_are_counted_not_kept(tmp_path: Path) -> None:
    traced = trace(tmp_path, next(iter(list_interpreters())), PROGRAM, calls=100)
    assert traced.latencies is not None
    assert traced.latencies.table.height == 100
    assert traced.latencies.seen > 4000
    assert traced.trace.totals["dict_resize"] > 0


def test_requests_that_touch_new_pages_have_page_faults_and_others_have_none(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("kept = [bytearray(4000) for _ in range(500)]\n", encoding="utf-8")
    command = [next(iter(list_interpreters().values())), str(script)]
    traced = trace_allocations(command, latencies=10_000, faults=True)
    assert traced.latencies is not None
    table = traced.latencies.table
    # Most of two megabytes in pages of 4 KiB: what the C library had before is no news.
    assert 200 < table["page_faults"].sum() < 2000
    assert (table["page_faults"] == 0).sum() > table.height / 4
