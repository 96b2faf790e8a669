"""Simulated packages: how long they take, and what they do to machines."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class SimulatedPackage:
    """What a trial of a package does.

    `failing` is the share of trials in which its own script fails, for one reason or another; `broken` says
    where it fails every time, for the same reason; under `poison` machines go down.
    """

    name: str
    sha256: str
    bytes: int
    has_setup: bool
    duration_s: float
    failing: float
    poison: bool
    has_profile: bool = False
    broken: str = ""  # "everywhere", a level of the optimization, or "here and there": on every third machine

    def is_broken_at(self, optimization: str, worker_id: str) -> bool:
        """Tell whether it fails at a level on a machine, whatever chance says."""
        if self.broken == "here and there":
            return hashlib.sha256(worker_id.encode()).digest()[0] % 3 == 0
        return self.broken in ("everywhere", optimization)


def draw_package(random: Random, name: str, *, poison: bool) -> SimulatedPackage:
    sha256 = hashlib.sha256(f"{name} {random.random()}".encode()).hexdigest()
    return SimulatedPackage(
        name=name,
        sha256=sha256,
        bytes=random.randrange(100, 5_000_000),
        has_setup=random.random() < 0.8,
        duration_s=random.choice((0.0, 20.0, 100.0, 250.0)) * random.uniform(0.5, 1.5),
        failing=random.choice((0.0, 0.0, 0.0, 0.3, 1.0)),
        poison=poison,
        # Sources of their own: what all seeds drew before stays.
        has_profile=Random(f"{sha256} profile").random() < 0.7,
        broken=Random(f"{sha256} broken").choice(("", "", "", "", "everywhere", "-O0", "here and there")),
    )
