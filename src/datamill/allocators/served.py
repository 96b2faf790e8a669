"""What a traced server did for each request that it read from a socket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from datamill.allocators.events import EVENTS
from datamill.allocators.latencies import SLOW_PATH, Clock
from datamill.allocators.trace import Frame

#: In the ledger's table of requests (`crates/trace/src/native/entries/served.rs`).
_SERVED = 4


@dataclass(frozen=True, slots=True, eq=False)
class ServedRequests:
    """Requests that a server answered.

    Args:
        table: a row for each, in the order in which they were done: `index` from 0 on; `latency_ns` and
            `cycles`, from when a thread had read it from a socket until that thread's next call that reads,
            writes or waits on one; `binned`, whether the allocator extended its heap, mapped memory or found
            a thread's cache empty meanwhile; `event`, which of these, joined by `+`, or null; `command`, its
            first word; `bytes` that were read; `requests` to the allocator, and `refills` among them;
            `page_faults` of the thread, null where they cannot be seen; `pid`.
        seen: requests that there were; those from `limit` on are not in the table.
        limit: rows that there is room for.
        clock: what latencies were read from.
    """

    table: pl.DataFrame
    seen: int
    limit: int
    clock: Clock

    def list_commands(self) -> tuple[ServedCommand, ...]:
        """Return the commands that a server was sent, most frequent first."""
        has = pl.col("event").fill_null("")
        found = (
            self.table.group_by("command")
            .agg(
                pl.len().alias("count"),
                pl.col("latency_ns").median().alias("median_ns"),
                pl.col("latency_ns").max().alias("longest_ns"),
                has.str.contains("memory_map").sum().alias("mapped"),
                has.str.contains("heap_extend").sum().alias("extended"),
                (pl.col("refills") > 0).sum().alias("refilled"),
                (pl.col("page_faults") > 0).sum().alias("faulted"),
            )
            .sort("count", "command", descending=[True, False])
        )
        return tuple(ServedCommand(**row) for row in found.iter_rows(named=True))


@dataclass(frozen=True, slots=True)
class ServedCommand:
    """Requests of one command: how many, in nanoseconds the median and the greatest latency, and what
    happened.
    """

    command: str
    count: int
    median_ns: float
    longest_ns: float
    mapped: int
    extended: int
    refilled: int
    faulted: int


def read_served(
    rows: np.ndarray[Any, Any], lines: Mapping[int, Frame], *, seen: int, limit: int, clock: Clock
) -> ServedRequests:
    """Make a table of requests that servers answered.

    Args:
        rows: of `latencies.CALL`.
        lines: commands by their number in the ledger.
        seen: requests that there were.
        limit: requests for which there was room.
        clock: what ticks are.
    """
    rows = rows[rows["domain"] == _SERVED]
    ns = 1e9 / clock.rate if clock.rate else 0.0
    events = rows["events"]
    names = {
        int(bits): "+".join(event.name for number, event in enumerate(EVENTS) if bits >> number & 1) or None
        for bits in np.unique(events)
    }
    slow = sum(1 << number for number, event in enumerate(EVENTS) if event.name in SLOW_PATH)
    commands = {number + 1: frame.function for number, frame in lines.items() if not frame.file}
    table = pl.DataFrame(
        {
            "index": np.arange(rows.size),
            "latency_ns": rows["ticks"] * ns,
            "cycles": rows["ticks"],
            "binned": (events & slow) != 0,
            "event": events,
            "command": rows["frame"],
            "bytes": rows["size"],
            "requests": rows["growth"] >> 32,
            "refills": rows["growth"] & 0xFFFF_FFFF,
            "page_faults": rows["faults"].astype(np.int64) - 1,
            "pid": rows["pid"],
        }
    ).with_columns(
        pl.col("event").replace_strict(names, return_dtype=pl.String),
        pl.col("command").replace_strict(commands, default="", return_dtype=pl.String),
        pl.when(pl.lit(clock.counts_cycles)).then("cycles"),
        pl.when(pl.col("page_faults") >= 0).then("page_faults"),
    )
    return ServedRequests(table, seen, limit, clock)
