"""Regression over benchmarks instead of machines (data transposition), with ridge."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from datamill.platforms.methods.centred import LEAST_VARIANCE, Centred
from datamill.platforms.scores.score_matrix import FloatArray

#: Predicts logarithms of times on the targets (J × m).
Method = Callable[[Centred], FloatArray]


def transpose_ridge(penalty: float) -> Method:
    """Return the method with a penalty, in units of the mean variance of a trained machine's pattern.

    Benchmarks are the rows, the trained machines the columns, a target the response (Piccart and others,
    2011, "data transposition"). The penalty pulls a target towards the level that the suite has there.
    """

    def predict(given: Centred) -> FloatArray:
        seen, trained = given.seen, given.trained
        gram = seen @ seen.transpose(0, 2, 1)
        size = np.maximum(np.trace(gram, axis1=1, axis2=2) / trained, LEAST_VARIANCE)
        gram = gram + (penalty * size)[:, None, None] * np.eye(trained)
        weights = np.linalg.solve(gram, given.pattern[..., None])
        return given.add_levels((given.unseen @ (seen.transpose(0, 2, 1) @ weights))[..., 0])

    return predict
