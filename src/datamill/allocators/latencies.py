"""The latency of every allocation request of a traced program, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from datamill.allocators.events import EVENTS
from datamill.allocators.trace import Frame

#: A request as the tracer writes it down (`crates/trace/src/latency/calls.rs`).
CALL = np.dtype(
    [
        ("ticks", "<u8"),
        ("size", "<u8"),
        ("growth", "<u8"),
        ("frame", "<u4"),
        ("pid", "<u4"),
        ("events", "<u4"),
        ("way", "u1"),
        ("domain", "u1"),
        ("faults", "<u2"),
    ]
)
#: Events of the allocator itself: the request took the slow path. A container's resize is a reason to ask
#: for memory, not a reason for the answer to take long.
SLOW_PATH = ("pool_init", "new_arena", "memory_map", "heap_extend", "cache_refill")
_WAYS = ("", "malloc", "calloc", "realloc", "aligned")
_DOMAINS = ("", "object", "memory", "native")
_NATIVE = 3
#: Blocks of up to so many bytes come from pools, in classes of so many bytes (`Objects/obmalloc.c`).
_LARGEST_SMALL, _ALIGNMENT = 512, 16
_CONSTANT_CYCLES, _CYCLES, _TIMER = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Clock:
    """The counter that latencies were read from.

    Args:
        counter: 1 for cycles of a constant clock, 2 for cycles of one that may change, 3 for a timer of the
            processor; 0 where nothing was read.
        cost: ticks that a reading costs, subtracted from each latency.
        rate: ticks in a second.
        own: ticks that the tracer itself took in a request, beside what was measured: the median, to a tenth.
    """

    counter: int
    cost: int
    rate: int
    own: float

    @property
    def counts_cycles(self) -> bool:
        """Whether ticks are cycles of the processor's clock (`rdtsc`)."""
        return self.counter in (_CONSTANT_CYCLES, _CYCLES)

    @property
    def cost_ns(self) -> float:
        """What a reading costs, in nanoseconds."""
        return self.cost * 1e9 / self.rate if self.rate else 0.0

    @property
    def own_ns(self) -> float:
        """What the tracer itself took in a request, in nanoseconds."""
        return self.own * 1e9 / self.rate if self.rate else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class AllocationLatencies:
    """Latencies of the allocation requests of a traced program.

    Args:
        table: a row for each request, in the order in which they were answered: `index` from 0 on;
            `latency_ns` and `cycles` without the reading of the counter (`cycles` is null where the counter
            counts none); `binned`, whether the allocator took its slow path; `event`, all that happened in
            it, joined by `+`, or null; `size` in bytes as asked for; `size_class` in bytes, null for blocks
            of interpreters that come from no pool; `request` (malloc, calloc, realloc, aligned) and `domain`
            (object, memory, native); `file`, `line` and `function`, null where they cannot be told;
            `resize_ns`, for a dictionary or set that moved to the block, the time from the request until its
            old table was given back; `page_faults` in the request, null where they were not asked for; `pid`.
        seen: requests that there were; those from `limit` on are not in the table.
        limit: rows that there is room for.
        clock: what latencies were read from.
    """

    table: pl.DataFrame
    seen: int
    limit: int
    clock: Clock

    def summarize_paths(self) -> tuple[PathLatency, ...]:
        """Return the requests that the allocator answered at once and those of its slow path, if any."""
        found = []
        for binned in (False, True):
            values = self.table.filter(pl.col("binned") == binned)["latency_ns"].to_numpy()
            if values.size:
                middle, longest = float(np.median(values)), float(np.max(values))
                found.append(PathLatency(binned, values.size, middle, longest))
        return tuple(found)

    def find_slow_lines(self) -> tuple[SlowLine, ...]:
        """Return the lines whose requests took the slow path, most time first."""
        lines = (
            self.table.filter(pl.col("binned") & pl.col("line").is_not_null())
            .group_by("file", "line", "function", maintain_order=True)
            .agg(pl.len().alias("count"), pl.col("latency_ns").sum(), pl.col("size").sum())
            .sort("latency_ns", descending=True, maintain_order=True)
        )
        return tuple(SlowLine(**row) for row in lines.iter_rows(named=True))


@dataclass(frozen=True, slots=True)
class PathLatency:
    """Latencies in ns of the requests of one path: the slow one where `binned`; `count` of them."""

    binned: bool
    count: int
    median_ns: float
    longest_ns: float


@dataclass(frozen=True, slots=True)
class SlowLine:
    """What a line's requests took in the allocator's slow path: how many, nanoseconds, bytes asked for."""

    file: str
    line: int
    function: str
    count: int
    latency_ns: float
    size: int


def read_calls(
    rows: np.ndarray[Any, Any],
    lines: Mapping[int, Frame],
    *,
    seen: int,
    limit: int,
    clock: Clock,
    without_pools: Sequence[int] = (),
) -> AllocationLatencies:
    """Make a table of requests.

    Args:
        rows: of `CALL`.
        lines: lines of the program by their number in the ledger.
        seen: requests that there were.
        limit: requests for which there was room.
        clock: what ticks are.
        without_pools: processes whose allocator has no pools.
    """
    # A process that was killed leaves its last row unfinished.
    rows = rows[rows["domain"] > 0]
    ns = 1e9 / clock.rate if clock.rate else 0.0
    events = rows["events"]
    names = {int(bits): _name_events(int(bits)) for bits in np.unique(events)}
    slow = sum(1 << number for number, event in enumerate(EVENTS) if event.name in SLOW_PATH)
    frames = [lines.get(number) for number in range(max(lines, default=-1) + 1)]
    places = rows["frame"].astype(np.int64) - 1
    size = rows["size"]
    size_class = (np.maximum(size, 1) + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
    by_line = pl.DataFrame(
        {
            "place": np.arange(len(frames)),
            "file": [frame and frame.file for frame in frames],
            "line": [frame and frame.line for frame in frames],
            "function": [frame and frame.function for frame in frames],
        },
        schema={"place": pl.Int64, "file": pl.String, "line": pl.Int64, "function": pl.String},
    )
    is_native = rows["domain"] == _NATIVE
    # The allocator of a native program says how much room a block has; of that, nothing grows.
    size_class = np.where(is_native, rows["growth"], size_class)
    growth = np.where(is_native, 0, rows["growth"])
    has_class = ((size <= _LARGEST_SMALL) & ~np.isin(rows["pid"], without_pools)) | (
        is_native & (size_class > 0)
    )
    table = pl.DataFrame(
        {
            "index": np.arange(rows.size),
            "latency_ns": rows["ticks"] * ns,
            "cycles": rows["ticks"],
            "binned": (events & slow) != 0,
            "event": events,
            "size": size,
            "size_class": size_class,
            "request": rows["way"],
            "domain": rows["domain"],
            "place": places,
            "has_class": has_class,
            "resize_ns": growth * ns,
            "page_faults": rows["faults"].astype(np.int64) - 1,
            "pid": rows["pid"],
        }
    ).with_columns(
        pl.col("event").replace_strict(names, return_dtype=pl.String),
        pl.when("has_class").then("size_class"),
        pl.col("request").replace_strict(dict(enumerate(_WAYS)), return_dtype=pl.String),
        pl.col("domain").replace_strict(dict(enumerate(_DOMAINS)), return_dtype=pl.String),
        pl.when(pl.col("resize_ns") > 0).then("resize_ns"),
        pl.when(pl.lit(clock.counts_cycles)).then("cycles"),
        pl.when(pl.col("page_faults") >= 0).then("page_faults"),
    )
    table = table.join(by_line, on="place", how="left", maintain_order="left").drop("place")
    columns = ["index", "latency_ns", "cycles", "binned", "event", "size", "size_class", "request", "domain"]
    return AllocationLatencies(
        table.select(*columns, "file", "line", "function", "resize_ns", "page_faults", "pid"),
        seen,
        limit,
        clock,
    )


def _name_events(bits: int) -> str | None:
    return "+".join(event.name for number, event in enumerate(EVENTS) if bits >> number & 1) or None
