"""What is told of reports that were refused: enough to find out, and no more than that from one worker."""

from __future__ import annotations

from dataclasses import dataclass, field

from datamill.service.coordinator.state.events import EventKind, NewEvent, clean_text
from datamill.service.models import Event

#: Refusals of one worker that the account tells of within the time below; it keeps events for ever.
MOST_TOLD = 100
_PERIOD_S = 3600.0


@dataclass(frozen=True, slots=True)
class RefusalBook:
    """Refusals of a batch of reports."""

    now_s: float
    sentences: list[str] = field(default_factory=list)
    events: list[NewEvent] = field(default_factory=list)
    _room: dict[str, int] = field(default_factory=dict)

    def add(self, worker_id: str, reason: str) -> bool:
        """Note a refusal; return whether its worker has now sent more of these than are told of."""
        worker_id = clean_text(worker_id, 16)
        self.sentences.append(f"{worker_id}: {clean_text(reason, 500)}")
        if worker_id not in self._room:
            self._room[worker_id] = MOST_TOLD - self._count_told(worker_id)
        self._room[worker_id] -= 1
        if self._room[worker_id] >= 0:
            self.events.append(NewEvent(EventKind.REPORT_REFUSED, worker_id=worker_id, detail=reason))
        return self._room[worker_id] < 0

    def _count_told(self, worker_id: str) -> int:
        """Return how many of a worker's latest events are refusals of this hour."""
        latest = Event.objects.filter(worker_id=worker_id).order_by("-pk").values_list("kind", "unix_s")
        return sum(
            kind == EventKind.REPORT_REFUSED and unix_s > self.now_s - _PERIOD_S
            for kind, unix_s in latest[: 4 * MOST_TOLD]
        )
