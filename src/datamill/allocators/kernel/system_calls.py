"""System calls of a program: how long each took, and what the kernel did in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from datamill.allocators.kernel.events import FieldReader, KernelEvent, read_addresses
from datamill.allocators.kernel.formats import EventFormat
from datamill.allocators.kernel.probes import ENTER, EXIT

#: Calls that a launcher makes before it becomes the program: they do next to nothing, so that their latency
#: is that of being recorded.
IDLE_CALL = "getppid"
_BEGINNINGS = ("execve", "execveat")
_STACK, _FUNCTION = "kernel_stack", "function"
_COLUMNS = {
    "index": pl.UInt64,
    "call": pl.String,
    "latency_ns": pl.UInt64,
    "binned": pl.Boolean,
    "event": pl.String,
    "slab_refills": pl.UInt32,
    "slab_pages": pl.UInt32,
    "pages": pl.UInt32,
    "page_faults": pl.UInt32,
    "requests": pl.UInt32,
    "merged": pl.UInt32,
    "split": pl.UInt32,
    "bounced": pl.UInt32,
    "switches": pl.UInt32,
    "off_cpu_ns": pl.UInt64,
    "result": pl.Int64,
    "thread": pl.Int32,
}
#: Which counts of a call are told in its column `event`.
_TOLD = ("slab_refills", "slab_pages", "pages", "page_faults", "requests", "merged", "split", "bounced")
#: What an event adds to, one a record.
_COUNTED = {
    "page_fault_kernel": "page_faults",
    "block_bio_queue": "requests",
    "block_bio_backmerge": "merged",
    "block_bio_frontmerge": "merged",
    "block_split": "split",
    "block_bio_bounce": "bounced",
    "swiotlb_bounced": "bounced",
}


@dataclass(frozen=True, slots=True, eq=False)
class SystemCalls:
    """System calls of a program and its children, from its execve on.

    Args:
        table: a row for each, in the order in which they were answered: `index` from 0 on; `call`, its name;
            `latency_ns`, between the records of its beginning and its end; `binned`, whether the allocator of
            kernel objects took its slow path in it; `event`, all that the kernel did in it, joined by `+`, or
            null; `slab_refills`, how often a processor's cache of objects was filled; `slab_pages` and
            `pages`, pages of memory allocated for slabs and in all; `page_faults` in the kernel; block
            `requests` that it queued, and how many were `merged`, `split`, `bounced`; `switches`, how often
            it left its processor, and `off_cpu_ns`, for how long; `result`; `thread`. Columns that this
            kernel does not show are null.
        seen: calls that there were; those from `limit` on are not in the table.
        limit: rows that there is room for.
        unpaired: calls of which only the end, or only the beginning, was recorded.
        idle_ns: median latency of calls that do nothing, which is that of being recorded; None without any.
        threads: of the program and its children.
    """

    table: pl.DataFrame
    seen: int
    limit: int
    unpaired: int
    idle_ns: float | None
    threads: frozenset[int]

    def list_kinds(self) -> tuple[CallKind, ...]:
        """Return the calls by name, the most frequent first."""
        rows = (
            self.table.group_by("call", maintain_order=True)
            .agg(
                pl.len().alias("count"),
                pl.col("latency_ns").median().alias("median_ns"),
                pl.col("latency_ns").max().alias("longest_ns"),
                pl.col("binned").sum(),
                pl.col("latency_ns").filter("binned").median().alias("binned_median_ns"),
                (pl.col("pages") > 0).sum(),
                (pl.col("switches") > 0).sum().alias("switched"),
            )
            .sort("count", descending=True, maintain_order=True)
        )
        return tuple(CallKind(**row) for row in rows.iter_rows(named=True))


@dataclass(slots=True)
class _Call:
    name: str
    begin: int
    counts: dict[str, int] = field(default_factory=dict)
    left: int | None = None

    def add(self, what: str, number: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + number


@dataclass(frozen=True, slots=True)
class SlabCode:
    """Where the kernel's code that fills caches lies.

    Args:
        pages: address ranges of functions that get pages for slabs.
        refills: those of functions that fill a processor's cache.
    """

    pages: tuple[tuple[int, int], ...] = ()
    refills: tuple[tuple[int, int], ...] = ()


def collect_system_calls(
    events: Iterable[KernelEvent],
    formats: Collection[EventFormat],
    *,
    limit: int,
    only: Collection[str] = (),
    hidden: Collection[str] = (),
    code: SlabCode = SlabCode(),
) -> SystemCalls:
    """Pair beginnings and ends of system calls, and count what lies between in the same thread.

    What happens in an interrupt does not count for the call that it interrupts.

    Args:
        events: of the program's threads, by time.
        formats: descriptions of events.
        limit: rows that are kept.
        only: names of the calls that count; all without any.
        hidden: columns that this kernel does not show.
        code: where slabs get pages.
    """
    pairing = _Pairing({form.name: form for form in formats}, frozenset(only), limit, code)
    for event in events:
        pairing.take(event)
    return pairing.finish(frozenset(hidden))


class _Pairing:
    """What is known of each thread while events go by."""

    def __init__(
        self, formats: Mapping[str, EventFormat], only: frozenset[str], limit: int, code: SlabCode
    ) -> None:
        self._formats, self._only, self._limit, self._code = formats, only, limit, code
        self._open: dict[int, _Call] = {}
        self._pages_before: dict[int, int] = {}
        self._columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self._idle: list[int] = []
        self._threads: set[int] = set()
        self._seen = self._unpaired = 0
        self._began = False
        self._ends = {
            name: FieldReader(form, "ret", signed=True)
            for name, form in formats.items()
            if name.startswith(EXIT)
        }
        self._steps: dict[str, Callable[[KernelEvent], None]] = {
            **dict.fromkeys(_COUNTED, self._count),
            _STACK: self._take_stack,
            _FUNCTION: self._take_function,
        }
        if "mm_page_alloc" in formats:
            self._order = FieldReader(formats["mm_page_alloc"], "order")
            self._steps["mm_page_alloc"] = self._take_pages
        if "sched_switch" in formats:
            self._previous = FieldReader(formats["sched_switch"], "prev_pid", signed=True)
            self._next = FieldReader(formats["sched_switch"], "next_pid", signed=True)

    def take(self, event: KernelEvent) -> None:
        name = event.name
        if name.startswith(ENTER):
            if event.thread in self._open:
                self._unpaired += self._began
            self._open[event.thread] = _Call(name[len(ENTER) :], event.time)
        elif name.startswith(EXIT):
            self._end(event, name[len(EXIT) :])
        elif name == "sched_switch":
            self._switch(event)
        elif not event.interrupted and event.thread in self._open:
            step = self._steps.get(name)
            if step is not None:
                step(event)

    def _count(self, event: KernelEvent) -> None:
        self._open[event.thread].add(_COUNTED[event.name])

    def _take_pages(self, event: KernelEvent) -> None:
        pages = 1 << min(self._order.read(event), 30)
        self._open[event.thread].add("pages", pages)
        # Its stack, if it has one, is the next record of the same thread.
        self._pages_before[event.thread] = pages

    def _take_stack(self, event: KernelEvent) -> None:
        pages = self._pages_before.pop(event.thread, 0)
        if pages and any(
            low <= address < high
            for address in read_addresses(self._formats[_STACK], event)
            for low, high in self._code.pages
        ):
            self._open[event.thread].add("slab_pages", pages)

    def _take_function(self, event: KernelEvent) -> None:
        address = FieldReader(self._formats[_FUNCTION], "ip").read(event)
        if any(low <= address < high for low, high in self._code.refills):
            self._open[event.thread].add("slab_refills")

    def _switch(self, event: KernelEvent) -> None:
        left = self._open.get(self._previous.read(event))
        if left is not None:
            left.add("switches")
            left.left = event.time
        back = self._open.get(self._next.read(event))
        if back is not None and back.left is not None:
            back.add("off_cpu_ns", event.time - back.left)
            back.left = None

    def _end(self, event: KernelEvent, name: str) -> None:
        call = self._open.pop(event.thread, None)
        result = self._ends[event.name].read(event)
        if not self._began:
            if call is not None and call.name == name == IDLE_CALL:
                self._idle.append(event.time - call.begin)
                self._threads.add(event.thread)
            # The launcher itself; what it forks before that is not the program.
            self._began = event.thread in self._threads and name in _BEGINNINGS and result == 0
            return
        self._threads.add(event.thread)
        if call is None or call.name != name:
            # A child's first end is that of its parent's call.
            self._unpaired += call is not None
            return
        if self._only and name not in self._only:
            return
        self._seen += 1
        if self._seen <= self._limit:
            self._keep(call, event.time - call.begin, result, event.thread)

    def _keep(self, call: _Call, latency: int, result: int, thread: int) -> None:
        counts, columns = call.counts, self._columns
        columns["index"].append(self._seen - 1)
        columns["call"].append(call.name)
        columns["latency_ns"].append(latency)
        columns["binned"].append(bool(counts.get("slab_refills") or counts.get("slab_pages")))
        columns["event"].append("+".join(name for name in _TOLD if counts.get(name)) or None)
        for name in (*_TOLD, "switches", "off_cpu_ns"):
            columns[name].append(counts.get(name, 0))
        columns["result"].append(result)
        columns["thread"].append(thread)

    def finish(self, hidden: frozenset[str]) -> SystemCalls:
        table = pl.DataFrame(self._columns, schema=_COLUMNS).with_columns(
            pl.lit(None, dtype=kind).alias(name) for name, kind in _COLUMNS.items() if name in hidden
        )
        idle = float(np.median(self._idle)) if self._idle else None
        threads = frozenset(self._threads)
        return SystemCalls(table, self._seen, self._limit, self._unpaired, idle, threads)


@dataclass(frozen=True, slots=True)
class CallKind:
    """All calls of one name: how many, latencies, and how many did what."""

    call: str
    count: int
    median_ns: float
    longest_ns: int
    binned: int
    binned_median_ns: float | None
    pages: int
    switched: int
