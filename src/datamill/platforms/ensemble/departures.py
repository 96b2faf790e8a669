"""How far an application departs from the suite's mean, where nothing else tells how large errors are."""

from __future__ import annotations

import numpy as np

from datamill.platforms.methods.centred import LEAST_VARIANCE, Centred
from datamill.platforms.scores.score_matrix import FloatArray

#: Patterns on a target count with half of those on the trained machines, so that few benchmarks that happen
#: to agree on it do not promise an exact prediction.
_SHRINKAGE = 0.5


def expect_departures(given: Centred) -> FloatArray:
    """Return sizes of error (m) of one application that is predicted by its ratio to the suite alone.

    The standard deviation that its own pattern has on the trained machines, times the square root of the
    ratio (one for equal sizes) of the benchmarks' patterns on the target to those on the trained machines:
    where benchmarks depart more from their mean, so will the application. NaN for one trained machine. In
    units of these, errors follow Student's t with k − 1 degrees of freedom.
    """
    pattern, trained = given.pattern[0], given.trained
    if trained < 2:
        return np.full(given.unseen.shape[1], np.nan)
    own = float((pattern**2).sum()) / (trained - 1)
    there = (given.unseen[0] ** 2).mean(axis=1)
    here = float((given.seen[0] ** 2).sum()) / ((trained - 1) * given.seen.shape[2])
    ratio = (there + _SHRINKAGE * here + LEAST_VARIANCE) / ((1 + _SHRINKAGE) * here + LEAST_VARIANCE)
    found: FloatArray = np.sqrt(own * (np.sqrt(ratio) + 1 / trained))
    return found
