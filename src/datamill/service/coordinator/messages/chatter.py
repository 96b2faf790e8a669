"""What workers tell of themselves goes into an account that is kept for ever: not without end."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.service.coordinator.state.events import EventKind, NewEvent
from datamill.service.models import Event

#: Events that a worker causes by what it says of itself, as often as it likes.
OF_ITSELF = frozenset(
    {
        EventKind.REBOOTED,
        EventKind.CHANGED,
        EventKind.HEARD,
        EventKind.LEFT,
        EventKind.CLOCK_OFF,
        EventKind.REPEATED,
    }
)
#: How many of them the account takes of one worker within the time below.
MOST_TOLD = 200
_PERIOD_S = 3600.0
#: Events of a worker that are looked at, the latest first.
_LOOKED_AT = 10 * MOST_TOLD


def limit_chatter(events: Sequence[NewEvent], now_s: float) -> list[NewEvent]:
    """Return events without those that a worker causes by itself, once it has caused many within an hour."""
    talking = {event.worker_id for event in events if event.kind in OF_ITSELF}
    room = {worker_id: MOST_TOLD - _count_told(worker_id, now_s) for worker_id in talking}
    kept = []
    for event in events:
        if event.kind in OF_ITSELF:
            room[event.worker_id] -= 1
            if room[event.worker_id] < 0:
                continue
        kept.append(event)
    return kept


def _count_told(worker_id: str, now_s: float) -> int:
    latest = Event.objects.filter(worker_id=worker_id).order_by("-pk").values_list("kind", "unix_s")
    return sum(kind in OF_ITSELF and unix_s > now_s - _PERIOD_S for kind, unix_s in latest[:_LOOKED_AT])
