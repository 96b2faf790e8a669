"""Simulated packages: how long they take, and what they do to machines."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class SimulatedPackage:
    """What a trial of a package does.

    `failing` is the share of trials in which its own script fails; under `poison` machines go down.
    """

    name: str
    sha256: str
    bytes: int
    has_setup: bool
    duration_s: float
    failing: float
    poison: bool


def draw_package(random: Random, name: str, *, poison: bool) -> SimulatedPackage:
    return SimulatedPackage(
        name=name,
        sha256=hashlib.sha256(f"{name} {random.random()}".encode()).hexdigest(),
        bytes=random.randrange(100, 5_000_000),
        has_setup=random.random() < 0.8,
        duration_s=random.choice((0.0, 20.0, 100.0, 250.0)) * random.uniform(0.5, 1.5),
        failing=random.choice((0.0, 0.0, 0.0, 0.3, 1.0)),
        poison=poison,
    )
