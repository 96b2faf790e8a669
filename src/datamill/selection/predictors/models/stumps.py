"""A sum of stumps."""

from __future__ import annotations

import msgspec

from datamill.selection.predictors.case import Case
from datamill.selection.predictors.models.probability import LEAST_PROBABILITY, to_probability
from datamill.selection.predictors.models.scaling import Scaling


class Stump(msgspec.Struct, frozen=True):
    """Adds `above` where a scaled feature is at least `least`, else `below`, which is not larger."""

    feature: int
    least: float
    below: float
    above: float


class Boosted(msgspec.Struct, frozen=True, tag="boosting"):
    """A sum of stumps, turned into a probability by `slope` and `shift` (Platt's scaling)."""

    scaling: Scaling
    start: float
    stumps: tuple[Stump, ...]
    slope: float = 1.0
    shift: float = 0.0
    warnings: tuple[str, ...] = ()

    def score(self, case: Case) -> float:
        """Return the probability of a change."""
        row = self.scaling.scale(case)
        total = self.start + sum(
            item.above if row[item.feature] >= item.least else item.below for item in self.stumps
        )
        return to_probability(self.shift + self.slope * total)

    def decides(self, case: Case) -> bool:
        """Whether the probability reaches `LEAST_PROBABILITY`."""
        return self.score(case) >= LEAST_PROBABILITY
