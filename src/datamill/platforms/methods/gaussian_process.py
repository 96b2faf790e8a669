"""A Gaussian process over benchmarks: those that act like the application on the trained machines count."""

from __future__ import annotations

import numpy as np

from datamill.platforms.methods.centred import LEAST_VARIANCE, Centred
from datamill.platforms.methods.transposed_ridge import Method
from datamill.platforms.scores.score_matrix import FloatArray


def relate_benchmarks(noise: float, length: float) -> Method:
    """Return the method of a Gaussian process whose inputs are patterns on the trained machines.

    The covariance of two benchmarks with patterns a and b is a'b/s + exp(−|a − b|²/(2·length²·s)), s the mean
    squared length of a pattern, plus `noise` of each for itself; a target's pattern is the output
    (Rasmussen and Williams 2006, equation 2.25). The first term follows proportions, the second nearness.
    """

    def predict(given: Centred) -> FloatArray:
        seen = given.seen
        rows = seen.transpose(0, 2, 1)
        squares = np.einsum("jkp,jkp->jp", seen, seen)
        size = np.maximum(squares.mean(axis=1), LEAST_VARIANCE)[:, None]
        products = rows @ seen
        distances = squares[:, :, None] + squares[:, None] - 2 * products
        covariance = products / size[..., None] + np.exp(-distances / (2 * length**2 * size[..., None]))
        covariance += noise * np.eye(rows.shape[1])
        own = (rows @ given.pattern[..., None])[..., 0]
        nearness = squares + (given.pattern**2).sum(axis=1)[:, None] - 2 * own
        reach = own / size + np.exp(-nearness / (2 * length**2 * size))
        weights = np.linalg.solve(covariance, reach[..., None])
        return given.add_levels((given.unseen @ weights)[..., 0])

    return predict
