"""Cases as rows of numbers, scaled by what was seen in training alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datamill.selection.predictors.case import Case


@dataclass(frozen=True, slots=True)
class Scaling:
    """Features that a model knows, each with the largest absolute value that it had in training."""

    names: tuple[str, ...]
    largest: tuple[float, ...]

    def build_matrix(self, cases: Sequence[Case]) -> NDArray[np.float64]:
        """Return n × p values: log(1 + x) of absolute ones, divided by its largest; what is missing is 0.

        Counts of changed functions span four orders of magnitude, and the step from none to one matters most.
        """
        rows = [[case.features.get(name, 0.0) for name in self.names] for case in cases]
        matrix = np.asarray(rows, dtype=np.float64).reshape(len(cases), len(self.names))
        scaled: NDArray[np.float64] = np.log1p(np.abs(matrix)) / np.log1p(np.asarray(self.largest))
        return scaled


def fit_scaling(cases: Sequence[Case]) -> Scaling:
    """Find the features of cases and their largest absolute values; those that are always 0 are left out."""
    largest: dict[str, float] = {}
    for case in cases:
        for name, value in case.features.items():
            largest[name] = max(largest.get(name, 0.0), abs(value))
    kept = {name: value for name, value in sorted(largest.items()) if value > 0}
    return Scaling(tuple(kept), tuple(kept.values()))
