"""What happened on the fleet, as a list and as a stream of server-sent events."""

from __future__ import annotations

import msgspec


class EventLine(msgspec.Struct, frozen=True):
    """What happened: who, what package, where, when."""

    id: int
    unix_s: float
    kind: str
    user: str
    worker: str
    experiment: int | None
    attempt: str
    package_sha256: str
    detail: str


class EventList(msgspec.Struct, frozen=True):
    """Some events, oldest first; ask for the rest with `after=next`."""

    events: tuple[EventLine, ...]
    next: int | None


class ProgressNews(msgspec.Struct, frozen=True):
    """How far an experiment is: `progress` of its stream; `reason` says why it is in its state.

    `finish_s` is the estimated time from now until the last trial ends, null when there is no telling.
    """

    state: str
    reason: str
    trials: dict[str, int]
    debug_trials: dict[str, int]
    workers: dict[str, dict[str, int]]
    finish_s: float | None


class OutputNews(msgspec.Struct, frozen=True):
    """A piece of what a script of a debug trial printed: `output` of the stream."""

    attempt: str
    worker: str
    trial: str
    number: int
    phase: str
    text: str


class EndNews(msgspec.Struct, frozen=True):
    """How an experiment ended: `end` of its stream, after which nothing comes."""

    state: str
    reason: str


News = ProgressNews | OutputNews | EventLine | EndNews
#: What each kind of server-sent event holds.
NEWS: dict[str, type[News]] = {
    "progress": ProgressNews,
    "output": OutputNews,
    "event": EventLine,
    "end": EndNews,
}
