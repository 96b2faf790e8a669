"""A logistic model of scaled features."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from datamill.selection.predictors.case import Case
from datamill.selection.predictors.models.probability import LEAST_PROBABILITY, to_probability
from datamill.selection.predictors.models.scaling import Scaling


class Logistic(msgspec.Struct, frozen=True, tag="logistic"):
    """Coefficients of scaled features; the scores are probabilities of a change.

    `offsets` are added to the log-odds of a benchmark; one that training did not have is like the mean.
    """

    scaling: Scaling
    intercept: float
    coefficients: tuple[float, ...]
    warnings: tuple[str, ...] = ()
    offsets: Mapping[str, float] = {}

    def score(self, case: Case) -> float:
        """Return the probability of a change."""
        row = self.scaling.scale(case)
        linear = sum(value * weight for value, weight in zip(row, self.coefficients, strict=True))
        return to_probability(self.intercept + self.offsets.get(case.benchmark, 0.0) + linear)

    def decides(self, case: Case) -> bool:
        """Whether the probability reaches `LEAST_PROBABILITY`."""
        return self.score(case) >= LEAST_PROBABILITY
