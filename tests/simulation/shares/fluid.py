"""What each user was promised: every machine divided among those who wait there, at every moment, by share.

It is worked out from who waits alone, and shares no code with the coordinator.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Promise:
    """Machine time that users were promised and received while at least two waited for the same machine.

    `longest_s` is the longest turn that anyone may have, `turns` is how many were judged.
    """

    longest_s: float
    promised_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    received_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    machines: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    turns: int = 0

    def add(self, machine: str, served: str, waiting: Mapping[str, float], held_s: float) -> None:
        """Note a turn: where, who had it, the shares of all who waited, its time in seconds."""
        if len(waiting) < 2:
            return
        self.turns += 1
        self.received_s[served] += held_s
        total = sum(waiting.values())
        for user, share in waiting.items():
            self.promised_s[user] += held_s * share / total
            self.machines[user].add(machine)

    def list_errors(self, least_turns: float) -> dict[str, float]:
        """Return received over promised less 1, of who was promised so many of the longest turns."""
        return {
            user: self.received_s[user] / promised - 1.0
            for user, promised in self.promised_s.items()
            if promised >= least_turns * self.longest_s
        }

    def list_turns_off(self) -> dict[str, float]:
        """Return how far off each user was, in longest turns for each machine where the user waited."""
        return {
            user: abs(self.received_s[user] - promised) / (self.longest_s * len(self.machines[user]))
            for user, promised in self.promised_s.items()
        }
