"""Server-sent events, read so that a coordinator that restarts is only an interruption."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from datamill.cli.coordinator.coordinator_client import CoordinatorClient, UnreachableError
from datamill.conduct.fleet.coordinator_records import read_record
from datamill.protocol.api.events import NEWS, News

#: Time between two attempts to reach a coordinator that went away, and for how long in all.
_PAUSE_S = 2.0
_PATIENCE_S = 600.0


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event: what kind it is, what it tells, and how to go on behind it."""

    kind: str
    content: News
    identity: str


def parse_events(lines: Iterable[str]) -> Iterator[StreamEvent]:
    """Yield the events of a stream of lines; one that is cut off, or of a kind unknown here, is passed over.

    Raises:
        UnknownAnswerError: an event lacks what its kind has.
    """
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            field, _, value = line.partition(":")
            if field in ("id", "event", "data"):
                fields[field] = value.removeprefix(" ")
            continue
        name = fields.get("event", "")
        if "data" in fields and name in NEWS:
            content = read_record(fields["data"].encode(), NEWS[name], f'"{name}" of the live stream')
            yield StreamEvent(name, content, fields.get("id", ""))
        fields = {}


def follow_experiment(
    coordinator: CoordinatorClient, number: int, tell: Callable[[str], None]
) -> Iterator[StreamEvent]:
    """Yield what happens in an experiment until it has ended.

    When the connection breaks it is made again, and the stream goes on where it broke off.

    Raises:
        InputError: when there is no such experiment, or the coordinator does not come back.
    """
    last = ""
    reached = False
    away_since_s: float | None = None
    while True:
        headers = {"Last-Event-ID": last} if last else {}
        try:
            with coordinator.stream(f"/experiments/{number}/stream", **headers) as answer:
                for event in parse_events(answer.iter_lines()):
                    if away_since_s is not None:
                        tell("The coordinator is back.")
                    reached, away_since_s = True, None
                    last = event.identity or last
                    yield event
                    if event.kind == "end":
                        return
            raise UnreachableError("the coordinator ended the connection")
        except UnreachableError as problem:
            # A coordinator that was never reached is no interruption.
            if not reached:
                raise
            if away_since_s is None:
                # From now on, not from the last news: an experiment may have none for hours.
                away_since_s = time.monotonic()
                tell(f"{problem.message}; trying again …")
            elif time.monotonic() - away_since_s > _PATIENCE_S:
                raise
        time.sleep(_PAUSE_S)
