"""Virtual time: what happens next, and nothing else moves the clock."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

#: When every simulation begins, seconds since the Unix epoch.
BEGINNING_S = 1_800_000_000.0


@dataclass(order=True, slots=True)
class Happening:
    """Something that will happen, unless it is called off before."""

    at_s: float
    number: int
    label: str = field(compare=False)
    action: Callable[[], None] | None = field(compare=False)

    def call_off(self) -> None:
        self.action = None


class Timeline:
    """What will happen, in order of time; of two things at one time the one that was planned first."""

    def __init__(self) -> None:
        self.now_s = BEGINNING_S
        self._happenings: list[Happening] = []
        self._planned = 0

    def after(self, delay_s: float, label: str, action: Callable[[], None]) -> Happening:
        self._planned += 1
        happening = Happening(self.now_s + max(delay_s, 0.0), self._planned, label, action)
        heapq.heappush(self._happenings, happening)
        return happening

    def next_happening(self) -> Happening | None:
        """Move the clock to what happens next and return it; None when nothing will ever happen again."""
        while self._happenings:
            happening = heapq.heappop(self._happenings)
            if happening.action is not None:
                self.now_s = happening.at_s
                return happening
        return None
