"""What a trace of the kernel says, in words and in JSON."""

from __future__ import annotations

import json

import polars as pl

from datamill.allocators.kernel.block_requests import BlockRequests
from datamill.allocators.kernel.system_calls import SystemCalls
from datamill.report.allocators.kernel.json import list_kernel_values
from datamill.report.allocators.kernel.statement import (
    phrase_kernel_answer,
    state_block_requests,
    state_kernel_limits,
    state_system_calls,
)

CALLS = SystemCalls(
    pl.DataFrame(
        {
            "call": ["mmap", "mmap", "mmap", "read"],
            "latency_ns": [1000, 3000, 22000, 500],
            "binned": [False, False, True, False],
            "pages": [0, 1, 1, 0],
            "switches": [0, 0, 0, 2],
        }
    ),
    seen=9,
    limit=4,
    unpaired=0,
    idle_ns=420.4,
    threads=frozenset({7}),
)
REQUESTS = BlockRequests(
    pl.DataFrame(
        {
            "operation": ["R", "R"],
            "latency_ns": [80_000, 120_000],
            "queued": [True, False],
            "merged": [True, True],
            "split": [False, False],
            "bounced": [False, False],
            "own": [True, False],
        }
    ),
    seen=2,
    limit=4,
    unanswered=3,
    empty=1,
)


def test_the_report_says_how_many_calls_were_slow_and_what_is_not_in_it() -> None:
    assert phrase_kernel_answer(CALLS).startswith("The program made 9 system calls; in 1 the kernel's")
    text = "\n".join(state_system_calls(CALLS, most=1))
    assert "mmap      3  3.00 µs  22.00 µs       1         22.00 µs           2         0" in text
    assert "Names of calls that are not shown: 1." in text
    assert "getppid) takes 420 ns" in text
    assert "5 later calls are not in the table: there was room for 4." in text


def test_requests_have_a_line_for_each_operation() -> None:
    text = "\n".join(state_block_requests(REQUESTS))
    assert "R                 2  100.00 µs  120.00 µs       1       2      0        0               1" in text
    assert "flushes: 1" in text
    assert "Unanswered when the program ended: 3." in text


def test_what_was_lost_or_cannot_be_seen_is_said() -> None:
    text = "\n".join(state_kernel_limits(5, 2, ["block requests that were bounced: no event"]))
    assert "5 events found no room" in text
    assert "left out: 2." in text
    assert "  - block requests that were bounced: no event" in text
    assert not list(state_kernel_limits(0, 0, ()))


def test_json_has_the_same_under_keys_that_stay() -> None:
    values = list_kernel_values(CALLS, REQUESTS, lost=1, not_visible=["x"])
    assert json.loads(json.dumps(values)) == {
        "call_count": 9,
        "calls_kept": 4,
        "calls_unpaired": 0,
        "idle_call_ns": 420.4,
        "calls": [
            {
                "call": "mmap",
                "count": 3,
                "median_ns": 3000.0,
                "longest_ns": 22000,
                "binned": 1,
                "binned_median_ns": 22000.0,
                "pages": 2,
                "switched": 0,
            },
            {
                "call": "read",
                "count": 1,
                "median_ns": 500.0,
                "longest_ns": 500,
                "binned": 0,
                "binned_median_ns": None,
                "pages": 0,
                "switched": 1,
            },
        ],
        "requests": {
            "count": 2,
            "kept": 2,
            "unanswered": 3,
            "without_sectors": 1,
            "operations": [
                {
                    "operation": "R",
                    "count": 2,
                    "median_ns": 100000.0,
                    "longest_ns": 120000,
                    "queued": 1,
                    "merged": 2,
                    "split": 0,
                    "bounced": 0,
                    "own": 1,
                }
            ],
        },
        "events_lost": 1,
        "not_visible": ["x"],
    }
    assert list_kernel_values(CALLS, None, lost=0, not_visible=())["requests"] is None
