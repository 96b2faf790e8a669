"""Server-sent events, read so that a coordinator that restarts is only an interruption."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from datamill.cli.coordinator.coordinator_client import CoordinatorClient, UnreachableError

#: Time between two attempts to reach a coordinator that went away, and for how long in all.
_PAUSE_S = 2.0
_PATIENCE_S = 600.0


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event: what kind it is, what it tells, and how to go on behind it."""

    kind: str
    content: dict[str, Any]
    identity: str


def parse_events(lines: Iterable[str]) -> Iterator[StreamEvent]:
    """Yield the events of a stream of lines; one that is cut off is passed over."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            if name in ("id", "event", "data"):
                fields[name] = value.removeprefix(" ")
            continue
        if "data" in fields:
            yield StreamEvent(fields.get("event", ""), json.loads(fields["data"]), fields.get("id", ""))
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
