"""The steps in which values come where a clock or a rounded output is too coarse to show that they vary."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from datamill.analysis.model_data.cells import FloatArray

#: Spread over the step from which rounding acts as noise that averages out: the mean of rounded normal values
#: is then off by at most a four-hundredth of the step.
_ENOUGH_SPREAD = 0.5
#: Values a distinct one has at least on the mean where the distance between these counts as a step.
_MANY = 2
#: Distinct values whose digits are looked at: more of them are hardly all as round.
_LOOKED_AT = 1000


def find_hiding_step(values: FloatArray, groups: NDArray[np.int64]) -> float:
    """Return the step in which values (N ≥ 1) come if it hides how much they vary, else 0.

    `groups` (N) tell which values repeat each other. The step is the place of the last decimal that any of
    them has, units at most, or the least distance within a group where values are few and often the same. It
    hides their spread where the standard deviation within groups is below half of it.
    """
    members = np.unique(groups, return_inverse=True)[1]
    order = np.lexsort((values, members))
    ordered, same = values[order], np.diff(members[order]) == 0
    distances = np.diff(ordered)
    new = np.concatenate([[True], ~same | (distances > 0)])
    step = 10.0 ** -max(_count_decimals(value) for value in ordered[new][:_LOOKED_AT].tolist())
    distances = distances[same & (distances > 0)]
    if len(distances) > 0 and len(values) >= _MANY * new.sum():
        step = max(step, float(distances.min()))
    sizes = np.bincount(members)
    residuals = values - (np.bincount(members, weights=values) / sizes)[members]
    df = len(values) - len(sizes)
    spread = float(np.sqrt(np.sum(residuals**2) / df)) if df > 0 else 0.0
    return step if spread < _ENOUGH_SPREAD * step else 0.0


def _count_decimals(value: float) -> int:
    """Decimals of the shortest decimal number that is this one, 0 of whole numbers."""
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
