"""How much each member of the ensemble counts, learned from the suite's own benchmarks."""

from __future__ import annotations

import numpy as np

from datamill.platforms.scores.score_matrix import FloatArray

#: Errors beyond this (a factor of 1.22) count by their size and not by its square: a few machines on which
#: nothing predicts should not decide.
_LARGE_ERROR = 0.2
#: Added to the mean square of each member: draws the weights towards equal ones.
_SHRINKAGE = 0.3
_STEPS = 500


def weigh_members(errors: FloatArray) -> FloatArray:
    """Return weights of members (B, not negative, sum 1) that predict pseudo-applications best together.

    Least squares over all errors (B × P × m, NaN left out) with Huber's weights at the equal mixture, by
    exponentiated gradients (Kivinen and Warmuth 1997), which keep weights on the simplex.
    """
    count = len(errors)
    rows = errors.reshape(count, int(np.prod(errors.shape[1:])))
    rows = rows[:, np.isfinite(rows).all(axis=0)]
    weights = np.full(count, 1 / count)
    if not rows.shape[1]:
        return weights
    together = np.abs(rows.mean(axis=0))
    rows = rows * np.sqrt(np.minimum(1, _LARGE_ERROR / np.maximum(together, 1e-12)))
    products = rows @ rows.T / rows.shape[1]
    size = np.trace(products) / count
    if size <= 0:
        return weights
    products += _SHRINKAGE * size * np.eye(count)
    for _ in range(_STEPS):
        slope = products @ weights
        moved = weights * np.exp(-0.5 * (slope - slope @ weights) / size)
        moved /= moved.sum()
        if np.abs(moved - weights).max() < 1e-6:
            break
        weights = moved
    return weights
