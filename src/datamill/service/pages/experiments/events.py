"""The account of what happened, as pages tell it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from datamill.service.models import Event
from datamill.service.progress import name_workers

#: Events that a person should look at.
_ALARMING = (
    "lost",
    "faulty",
    "refused",
    "drained",
    "stopped",
    "quarantine",
    "held",
    "given up",
    "silent",
    "clock off",
    "removed",
)


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """An event with the name of its worker in the place of its id."""

    unix_s: float
    kind: str
    alarming: bool
    user: str
    worker: str
    experiment_id: int | None
    attempt: str
    package_sha256: str
    detail: str


def tell_events(events: Iterable[Event]) -> list[ToldEvent]:
    """Return events as pages show them."""
    rows = list(events)
    names = name_workers(rows)
    return [
        ToldEvent(
            unix_s=event.unix_s,
            kind=event.kind,
            alarming=any(word in event.kind for word in _ALARMING),
            user=event.user,
            worker=names.get(event.worker_id, event.worker_id),
            experiment_id=event.experiment_id,
            attempt=event.attempt,
            package_sha256=event.package_sha256,
            detail=event.detail,
        )
        for event in rows
    ]
