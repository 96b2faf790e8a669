"""Machines that the suite tells to be alike are alike for the application: best linear prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.platforms.methods.centred import LEAST_VARIANCE, Centred
from datamill.platforms.methods.transposed_ridge import Method
from datamill.platforms.scores.score_matrix import FloatArray

#: Part of what the suite does not explain that similar machines have in common.
_LIKENESS = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class MachineCovariance:
    """Covariances of the application's pattern: of trained machines (J × k × k), with targets (J × m × k).

    `own` (J × m) are variances of targets, `distances` (J × m × k) mean squared distances of patterns.
    """

    trained: FloatArray
    across: FloatArray
    own: FloatArray
    distances: FloatArray


def find_covariance(
    given: Centred, noise: float, length: float, *, nearest: float = 0.0, rank: int = 0
) -> MachineCovariance:
    """Estimate covariances of machines from the suite, and add what an application has for itself.

    Args:
        given: the applications.
        noise: variance that the suite does not explain, in units of the mean variance of a pattern; nine
            tenths of it are shared by machines according to their distance.
        length: the distance at which machines share little of it, in units of the median distance.
        nearest: above zero, benchmarks count by exp(−d/(2·nearest·median d)), d their squared distance from
            the application's pattern on the trained machines.
        rank: above zero, only as many principal components of the suite's patterns are kept.
    """
    trained = given.trained
    patterns = given.patterns if not rank else _reduce_rank(given.patterns, rank)
    seen = patterns[:, :trained]
    count = patterns.shape[2]
    squares = (given.patterns**2).mean(axis=2)
    products = given.patterns @ given.seen.transpose(0, 2, 1) / count
    distances = np.maximum(squares[:, :, None] + squares[:, None, :trained] - 2 * products, 0.0)
    middle = np.median(distances.reshape(len(distances), -1), axis=1) + LEAST_VARIANCE
    size = np.maximum(squares[:, :trained].mean(axis=1), LEAST_VARIANCE)
    weighted = patterns
    if nearest:
        apart = ((given.seen - given.pattern[:, :, None]) ** 2).sum(axis=1)
        scale = nearest * np.median(apart, axis=1) + LEAST_VARIANCE
        weights = np.exp(-apart / (2 * scale[:, None]))
        weighted = patterns * (weights / weights.mean(axis=1)[:, None])[:, None]
    shared = np.exp(-distances / (2 * length**2 * middle[:, None, None]))
    covariance = weighted @ seen.transpose(0, 2, 1) / count
    covariance += (noise * _LIKENESS * size)[:, None, None] * shared
    diagonal = np.arange(trained)
    # The small part keeps machines with the same patterns apart, which no noise would.
    covariance[:, diagonal, diagonal] += ((noise * (1 - _LIKENESS) + 1e-9) * size)[:, None]
    return MachineCovariance(
        covariance[:, :trained],
        covariance[:, trained:],
        squares[:, trained:] + (noise * size)[:, None],
        distances[:, trained:],
    )


def share_covariance(noise: float, length: float, *, nearest: float = 0.0, rank: int = 0) -> Method:
    """Return the method of best linear unbiased prediction; arguments as `find_covariance`.

    The mean of the application is estimated by generalised least squares (universal kriging with a constant
    trend; Robinson 1991).
    """

    def predict(given: Centred) -> FloatArray:
        covariance = find_covariance(given, noise, length, nearest=nearest, rank=rank)
        ones = np.ones_like(given.pattern)
        solved = np.linalg.solve(covariance.trained, np.stack([ones, given.pattern], axis=-1))
        shift = solved[..., 1].sum(axis=1) / solved[..., 0].sum(axis=1)
        weights = solved[..., 1] - shift[:, None] * solved[..., 0]
        return given.add_levels(shift[:, None] + (covariance.across @ weights[..., None])[..., 0])

    return predict


def _reduce_rank(patterns: FloatArray, rank: int) -> FloatArray:
    """Keep the first principal components of patterns (J × n × p) over all machines."""
    left, values, right = np.linalg.svd(patterns, full_matrices=False)
    kept: FloatArray = (left[..., :rank] * values[:, None, :rank]) @ right[:, :rank]
    return kept
