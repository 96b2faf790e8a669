"""What a server did for its requests, in words."""

from __future__ import annotations

from collections.abc import Iterator

from datamill.allocators.served import ServedRequests
from datamill.experiment.messages.numbers import format_count, format_fixed

_HEADERS = ("Command", "Requests", "Median", "Longest", "Mapped", "Extended", "Refilled", "Page faults")


def state_served(served: ServedRequests, *, most: int = 20) -> Iterator[str]:
    """Say what was measured, and give the `most` frequent commands in a table."""
    if not served.seen:
        yield "No request was read from a socket by a native program."
        return
    yield (
        f"Latency of {format_count(served.table.height)} requests that were read from sockets, until the "
        "same "
        "thread read, wrote or waited again; and in how many of them memory was mapped, the heap "
        "extended, a thread's "
        "cache refilled, or a page faulted in:"
    )
    rows = [_HEADERS] + [
        (
            command.command or "?",
            format_count(command.count),
            f"{format_fixed(command.median_ns / 1e3, 2)} µs",
            f"{format_fixed(command.longest_ns / 1e3, 2)} µs",
            *(
                format_count(number)
                for number in (command.mapped, command.extended, command.refilled, command.faulted)
            ),
        )
        for command in served.list_commands()[:most]
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADERS))]
    for row in rows:
        first, *others = (
            cell.ljust(widths[0]) if not at else cell.rjust(widths[at]) for at, cell in enumerate(row)
        )
        yield "  " + "  ".join([first, *others])
    if served.seen > served.limit:
        yield (
            f"  {format_count(served.seen - served.limit)} later requests are not in the table: there was "
            "room for "
            f"{format_count(served.limit)}."
        )
