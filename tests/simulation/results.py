"""What became of a seed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class SeedResult:
    """Counts, faults and violations of one seed; `digest` is of its whole trace, attempts and events."""

    seed: int
    digest: str = ""
    steps: int = 0
    workers: int = 0
    experiments: int = 0
    trials: int = 0
    counted: int = 0
    attempts: int = 0
    executions: int = 0
    events: int = 0
    virtual_s: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    latest: list[str] = field(default_factory=list)
