"""Block requests: how long each took, and whether it was queued, merged, split or bounced."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from datamill.allocators.kernel.events import FieldReader, KernelEvent, read_text
from datamill.allocators.kernel.formats import EventFormat

_SECTOR = 512
_MERGES = ("block_bio_backmerge", "block_bio_frontmerge")
_COLUMNS = {
    "index": pl.UInt64,
    "latency_ns": pl.UInt64,
    "binned": pl.Boolean,
    "event": pl.String,
    "queued": pl.Boolean,
    "merged": pl.Boolean,
    "split": pl.Boolean,
    "bounced": pl.Boolean,
    "wait_ns": pl.UInt64,
    "device_ns": pl.UInt64,
    "in_flight": pl.UInt32,
    "operation": pl.String,
    "bytes": pl.UInt64,
    "device": pl.String,
    "sector": pl.UInt64,
    "thread": pl.Int32,
    "program": pl.String,
    "own": pl.Boolean,
}
_TOLD = ("queued", "merged", "split", "bounced")


@dataclass(frozen=True, slots=True, eq=False)
class BlockRequests:
    """Block requests that were answered while a program ran, of all programs of the machine.

    Args:
        table: a row for each, in the order in which they were answered: `index` from 0 on; `latency_ns`, from
            when it was handed to the block layer until its last sector was there; `binned`, whether it was
            any of `queued` (waited in the queue of a scheduler), `merged` (joined to another), `split` (in
            several) and `bounced` (copied to memory that the device reaches); `event`, which of these, joined
            by `+`, or null; `wait_ns` until the device got it, and `device_ns` from then, both null where
            that was not seen; `in_flight`, other requests of the device that were unanswered when it came;
            `operation` (`R` read, `W` write, `F` flush, `S` synchronous, `A` ahead, `M` metadata); `bytes`;
            `device` as major:minor; `sector`; the `thread` and `program` that handed it over; whether that
            was one of the `own` threads.
        seen: requests that were answered; those from `limit` on are not in the table.
        limit: rows that there is room for.
        unanswered: requests whose end was not seen.
        empty: requests without sectors, such as flushes, which cannot be followed and are in no row.
    """

    table: pl.DataFrame
    seen: int
    limit: int
    unanswered: int
    empty: int

    def list_kinds(self) -> tuple[RequestKind, ...]:
        """Return the requests by operation, the most frequent first."""
        rows = (
            self.table.group_by("operation", maintain_order=True)
            .agg(
                pl.len().alias("count"),
                pl.col("latency_ns").median().alias("median_ns"),
                pl.col("latency_ns").max().alias("longest_ns"),
                *(pl.col(name).sum() for name in (*_TOLD, "own")),
            )
            .sort("count", descending=True, maintain_order=True)
        )
        return tuple(RequestKind(**row) for row in rows.iter_rows(named=True))


@dataclass(slots=True)
class _Request:
    begin: int
    sector: int
    end: int
    left: int
    operation: str
    thread: int
    program: str
    in_flight: int
    issued: int | None = None
    queued: bool = False
    merged: bool = False
    split: bool = False
    bounced: bool = False


def collect_block_requests(
    events: Iterable[KernelEvent],
    formats: Collection[EventFormat],
    *,
    limit: int,
    own: Collection[int],
) -> BlockRequests:
    """Follow requests from the block layer to their answers, by device and sector.

    A request ends when all its sectors have been answered, in whichever pieces and together with whichever
    others.

    Args:
        events: of all processors, by time.
        formats: descriptions of events.
        limit: rows that are kept.
        own: the program's threads.
    """
    following = _Following({form.name: form for form in formats}, limit, frozenset(own))
    for event in events:
        following.take(event)
    return following.finish()


class _Following:
    """What is unanswered on each device while events go by."""

    def __init__(self, formats: dict[str, EventFormat], limit: int, own: frozenset[int]) -> None:
        self._formats, self._limit, self._own = formats, limit, own
        self._open: dict[int, list[_Request]] = {}
        self._columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self._seen = self._empty = 0
        #: Requests that each thread issued last: what is bounced then is theirs.
        self._issuing: dict[int, list[_Request]] = {}
        self._places = {
            name: tuple(FieldReader(form, field) for field in ("dev", "sector"))
            for name, form in formats.items()
            if "dev" in form.fields and "sector" in form.fields
        }
        self._lengths = {
            name: FieldReader(form, "nr_sector")
            for name, form in formats.items()
            if "nr_sector" in form.fields
        }
        self._steps: dict[str, Callable[[KernelEvent], None]] = {
            "block_bio_queue": self._begin,
            "block_split": self._split,
            "block_rq_insert": self._mark_queued,
            "block_rq_issue": self._issue,
            "block_rq_complete": self._answer,
            "block_bio_complete": self._answer,
            "block_bio_bounce": self._bounce_one,
            "swiotlb_bounced": self._bounce_issued,
            **dict.fromkeys(_MERGES, self._merge),
        }

    def take(self, event: KernelEvent) -> None:
        step = self._steps.get(event.name)
        if step is not None:
            step(event)

    def _begin(self, event: KernelEvent) -> None:
        device, sector, length = self._find_place(event)
        if not length:
            self._empty += 1
            return
        form = self._formats[event.name]
        others = self._open.setdefault(device, [])
        others.append(
            _Request(
                event.time,
                sector,
                sector + length,
                length,
                read_text(form, "rwbs", event),
                event.thread,
                read_text(form, "comm", event),
                len(others),
            )
        )

    def _merge(self, event: KernelEvent) -> None:
        for request in self._find(event):
            request.merged = True

    def _mark_queued(self, event: KernelEvent) -> None:
        for request in self._find(event):
            request.queued = True

    def _issue(self, event: KernelEvent) -> None:
        found = self._find(event)
        for request in found:
            if request.issued is None:
                request.issued = event.time
        self._issuing[event.thread] = found

    def _split(self, event: KernelEvent) -> None:
        device, sector, _ = self._find_place(event)
        for request in self._open.get(device, ()):
            request.split |= request.sector <= sector < request.end

    def _bounce_one(self, event: KernelEvent) -> None:
        for request in self._find(event):
            request.bounced = True

    def _bounce_issued(self, event: KernelEvent) -> None:
        for request in self._issuing.get(event.thread, ()):
            request.bounced = True

    def _answer(self, event: KernelEvent) -> None:
        device, sector, length = self._find_place(event)
        for request in self._find(event):
            request.left -= min(request.end, sector + length) - max(request.sector, sector)
            if request.left <= 0:
                self._open[device].remove(request)
                self._seen += 1
                if self._seen <= self._limit:
                    self._keep(request, event.time, device)

    def _find_place(self, event: KernelEvent) -> tuple[int, int, int]:
        device, sector = self._places[event.name]
        length = self._lengths.get(event.name)
        return device.read(event), sector.read(event), length.read(event) if length else 0

    def _find(self, event: KernelEvent) -> list[_Request]:
        device, sector, length = self._find_place(event)
        end = sector + length
        return [
            request for request in self._open.get(device, ()) if request.sector < end and sector < request.end
        ]

    def _keep(self, request: _Request, end: int, device: int) -> None:
        marks = {name: bool(getattr(request, name)) for name in _TOLD}
        issued = request.issued
        row = {
            "index": self._seen - 1,
            "latency_ns": end - request.begin,
            "binned": any(marks.values()),
            "event": "+".join(name for name in _TOLD if marks[name]) or None,
            **marks,
            "wait_ns": None if issued is None else issued - request.begin,
            "device_ns": None if issued is None else end - issued,
            "in_flight": request.in_flight,
            "operation": request.operation,
            "bytes": (request.end - request.sector) * _SECTOR,
            "device": f"{device >> 20}:{device & 0xFFFFF}",
            "sector": request.sector,
            "thread": request.thread,
            "program": request.program,
            "own": request.thread in self._own,
        }
        for name, value in row.items():
            self._columns[name].append(value)

    def finish(self) -> BlockRequests:
        unanswered = sum(len(requests) for requests in self._open.values())
        table = pl.DataFrame(self._columns, schema=_COLUMNS)
        return BlockRequests(table, self._seen, self._limit, unanswered, self._empty)


@dataclass(frozen=True, slots=True)
class RequestKind:
    """All requests of one operation: how many, latencies, and how many were what."""

    operation: str
    count: int
    median_ns: float
    longest_ns: int
    queued: int
    merged: int
    split: int
    bounced: int
    own: int
