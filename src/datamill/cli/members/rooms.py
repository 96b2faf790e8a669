"""What users have on a coordinator and may have, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from datamill.cli.console import make_table_console
from datamill.cli.coordinator.coordinator_client import CoordinatorClient
from datamill.experiment.messages.numbers import format_count
from datamill.experiment.quantities import format_size
from datamill.protocol.api.members.administration import UserLine, UserList, UserRoom


def list_users(coordinator: CoordinatorClient) -> Iterator[UserLine]:
    """Yield all accounts by name, a page at a time."""
    after: str | None = ""
    while after is not None:
        page = coordinator.get("/users", UserList, after=after)
        yield from page.users
        after = page.next


def print_rooms(rooms: Sequence[UserRoom]) -> None:
    """Print what users have and may have, a line each."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("user", no_wrap=True)
    for header in ("files", "stored", "at most", "open trials", "at most", "experiments"):
        table.add_column(header, justify="right")
    for room in rooms:
        table.add_row(
            Text(room.user),
            format_count(room.files),
            format_size(room.size_bytes),
            format_size(room.most_bytes),
            format_count(room.open_trials),
            format_count(room.most_trials),
            format_count(room.experiments),
        )
    make_table_console().print(table)


def describe_room(room: UserRoom) -> str:
    """Return what a user has and may have in a sentence."""
    return (
        f"{room.user} has {format_size(room.size_bytes)} of {format_size(room.most_bytes)} in files, "
        f"and {format_count(room.open_trials)} of {format_count(room.most_trials)} trials that have not ended"
    )
