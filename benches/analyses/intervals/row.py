"""One row of a table of coverage: a method on data of one kind and size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

#: Of each interval of one experiment: whether it held the truth, and whether a warning came with it.
Outcome = Mapping[str, tuple[bool, bool]]


@dataclass(frozen=True, slots=True)
class Row:
    """An experiment that can be repeated: `verb` and `method` as users name them, `data` and `n` in words."""

    verb: str
    method: str
    data: str
    n: str
    repeat: Callable[[np.random.Generator], Outcome]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often an interval held, and how often it held or came with a warning, of so many experiments."""

    name: str
    held: float
    held_or_warned: float
    warned: float
    experiments: int


def measure_coverage(row: Row, replications: int, seed: int) -> list[Coverage]:
    """Repeat an experiment; an interval that some repetitions do not give counts in the others only."""
    rng = np.random.default_rng(seed)
    counts: dict[str, list[int]] = {}
    for _ in range(replications):
        for name, (held, warned) in row.repeat(rng).items():
            tally = counts.setdefault(name, [0, 0, 0, 0])
            for at, hit in enumerate((held, held or warned, warned, True)):
                tally[at] += bool(hit)
    return [
        Coverage(name, held / done, either / done, warned / done, done)
        for name, (held, either, warned, done) in counts.items()
    ]


def holds(interval: object, truth: float) -> bool:
    """Whether an interval (`low`, `high`; a side may be None, unbounded) holds the truth."""
    low, high = getattr(interval, "low", None), getattr(interval, "high", None)
    return (low is None or low <= truth) and (high is None or truth <= high)
