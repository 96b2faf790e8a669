"""What the kernel did for a program, in words and tables of the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from datamill.allocators.kernel.block_requests import BlockRequests
from datamill.allocators.kernel.system_calls import SystemCalls
from datamill.experiment.messages.numbers import format_count, format_fixed

_CALL_HEADERS = ("Call", "Calls", "Median", "Longest", "Binned", "Median of these", "With pages", "Left CPU")
_REQUEST_HEADERS = (
    "Operation",
    "Requests",
    "Median",
    "Longest",
    "Queued",
    "Merged",
    "Split",
    "Bounced",
    "Of the program",
)


def phrase_kernel_answer(calls: SystemCalls) -> str:
    """Say how many system calls there were, and in how many the kernel's allocator took its slow path."""
    binned = int(calls.table["binned"].sum())
    return (
        f"The program made {format_count(calls.seen)} system calls; in {format_count(binned)} the kernel's "
        "allocator of objects took its slow path."
    )


def state_system_calls(calls: SystemCalls, *, most: int) -> Iterator[str]:
    """Give the `most` frequent calls in a table, and what recording them costs."""
    rows = [
        (
            kind.call,
            format_count(kind.count),
            _spell_time(kind.median_ns),
            _spell_time(kind.longest_ns),
            format_count(kind.binned),
            _spell_time(kind.binned_median_ns) if kind.binned_median_ns is not None else "",
            format_count(kind.pages),
            format_count(kind.switched),
        )
        for kind in calls.list_kinds()
    ]
    if rows:
        yield from _lay_out((_CALL_HEADERS, *rows[:most]))
    if len(rows) > most:
        yield f"  Names of calls that are not shown: {format_count(len(rows) - most)}."
    if calls.idle_ns is not None:
        yield (
            f"  A call that does nothing (getppid) takes {format_fixed(calls.idle_ns, 0)} ns, most of it for "
            "being recorded, which is in every latency."
        )
    if calls.seen > calls.limit:
        yield (
            f"  {format_count(calls.seen - calls.limit)} later calls are not in the table: there was room "
            f"for {format_count(calls.limit)}."
        )


def state_block_requests(requests: BlockRequests) -> Iterator[str]:
    """Give the requests of each operation in a table."""
    if not requests.seen:
        yield "No block request was answered while the program ran."
    else:
        yield (
            f"{format_count(requests.seen)} block requests were answered on this machine while the program "
            "ran (R read, W write, F flush, D discard, S synchronous, A ahead, M metadata):"
        )
        rows = [
            (
                kind.operation,
                format_count(kind.count),
                _spell_time(kind.median_ns),
                _spell_time(kind.longest_ns),
                *(
                    format_count(number)
                    for number in (kind.queued, kind.merged, kind.split, kind.bounced, kind.own)
                ),
            )
            for kind in requests.list_kinds()
        ]
        yield from _lay_out((_REQUEST_HEADERS, *rows))
    if requests.seen > requests.limit:
        yield (
            f"  {format_count(requests.seen - requests.limit)} later requests are not in the table: there "
            f"was room for {format_count(requests.limit)}."
        )
    if requests.empty:
        yield (
            f"  Requests without sectors, such as flushes: {format_count(requests.empty)}. They are in no "
            "row: the kernel does not say which answer is theirs."
        )
    if requests.unanswered:
        yield f"  Unanswered when the program ended: {format_count(requests.unanswered)}."


def state_kernel_limits(lost: int, unpaired: int, not_visible: Sequence[str]) -> Iterator[str]:
    """Say what was lost, and what this kernel does not show."""
    if lost:
        yield (
            f"{format_count(lost)} events found no room in the kernel's buffers: calls are missing, and "
            "counts may be too low."
        )
    if unpaired:
        yield f"Calls of which only a beginning or an end was recorded, left out: {format_count(unpaired)}."
    if not_visible:
        yield "Not visible on this kernel:"
        for clause in not_visible:
            yield f"  - {clause}"


def _spell_time(nanoseconds: float) -> str:
    return f"{format_fixed(nanoseconds / 1e3, 2)} µs"


def _lay_out(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        first, *others = (
            cell.ljust(widths[0]) if not at else cell.rjust(widths[at]) for at, cell in enumerate(row)
        )
        yield "  " + "  ".join([first, *others])
