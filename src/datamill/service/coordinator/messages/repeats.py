"""Orders that may not have come: sent again, later and later, until the worker speaks about their attempt.

Nothing between coordinator and worker keeps a message. A worker that connects says hello and is sent its
orders; what is lost while it is connected, such as on a route of a cluster that breaks, is sent once more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from datamill.service.coordinator.messages.orders import HELLO, UnsentOrders

#: First and longest time until orders are sent again, in seconds; the longest where a silent worker is asked
#: for a hello, which mostly is not there.
FIRST_S = 2.0
LONGEST_S = 60.0
LONGEST_SILENCE_S = 3600.0


@dataclass(slots=True)
class _Repeat:
    """When orders are sent again, and after which delay the time after that."""

    attempt: str
    due_s: float
    delay_s: float


class OrderRepeats:
    """What was sent to whom and is not answered; of this process alone, since a new one sends everything."""

    def __init__(self) -> None:
        self._repeats: dict[str, _Repeat] = {}

    def note_sent(self, sent: Iterable[UnsentOrders], now_s: float) -> None:
        """Note that orders went out: each is due again unless the worker speaks about its attempt."""
        for orders in sent:
            known = self._repeats.get(orders.worker_id)
            if not orders.awaited:
                self._repeats.pop(orders.worker_id, None)
            elif known is None or known.attempt != orders.awaited:
                self._repeats[orders.worker_id] = _Repeat(orders.awaited, now_s + FIRST_S, FIRST_S)
            else:
                longest_s = LONGEST_SILENCE_S if orders.awaited == HELLO else LONGEST_S
                known.delay_s = min(2 * known.delay_s, longest_s)
                known.due_s = now_s + known.delay_s

    def list_due(self, now_s: float) -> list[str]:
        """Return the workers whose orders are to be sent again now."""
        return [worker_id for worker_id, repeat in self._repeats.items() if repeat.due_s <= now_s]

    def drop(self, answered: Collection[str]) -> None:
        """Forget workers that spoke about their attempts."""
        for worker_id in answered:
            self._repeats.pop(worker_id, None)

    def find_next_s(self) -> float | None:
        """Return when the next orders are due, None when there are no such orders."""
        return min((repeat.due_s for repeat in self._repeats.values()), default=None)
