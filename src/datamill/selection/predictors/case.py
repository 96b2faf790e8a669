"""What predictors learn from and decide about: a benchmark in a pair of versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Case:
    """One benchmark in an old and a new version.

    `old_order` and `new_order` are the places of the versions in the history. `readings` are indicators and
    `features` what classifiers learn from, by name; what the profile did not allow is missing. `changed`:
    whether the performance did change; None where nobody measured. `ratio` is what was measured of the new
    version by that of the old one.
    """

    benchmark: str
    old: str
    new: str
    old_order: int
    new_order: int
    readings: Mapping[str, float]
    features: Mapping[str, float] = field(default_factory=dict)
    changed: bool | None = None
    ratio: float | None = None


class Model(Protocol):
    """A predictor that has learnt; `warnings` are what there is to know about it, in sentences."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What there is to know about it."""
        ...

    def score(self, case: Case) -> float:
        """Return how likely the performance changed: a probability where the model has them, else 1 or 0."""
        ...

    def decides(self, case: Case) -> bool:
        """Return whether the benchmark must run."""
        ...


class Fit(Protocol):
    """Learns from cases whose `changed` is known."""

    def __call__(self, cases: Sequence[Case]) -> Model:
        """Return the model."""
        ...


def keep_labelled(cases: Sequence[Case]) -> list[Case]:
    """Return the cases that were measured."""
    return [case for case in cases if case.changed is not None]
