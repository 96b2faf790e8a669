"""Intervals of figures over many models of few applications."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from datamill.analysis.interval import Interval
from datamill.platforms.scores.score_matrix import FloatArray, IntArray

#: Resampled suites, and steps of the distribution that they are read from.
_RESAMPLED, _STEPS = 999, 2000


def bound_mean_of_models(values: FloatArray, confidence: float) -> Interval:
    """Mean with the interval of independent values (Student's t), as the thesis draws it (Figure 7.7b).

    Models share their machines and their application, so that they are not independent: it is too short.
    """
    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return Interval(mean, math.nan, math.nan)
    half = _find_t(n - 1, confidence) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half)


def bound_mean(values: FloatArray, applications: IntArray, confidence: float) -> Interval:
    """Mean of values ≥ 0 with its interval where the applications, not the models, are independent.

    `applications` numbers each value's application. The variance is that of the applications' sums
    (cluster-robust, with G / (G - 1)), Student's t has G - 1 degrees of freedom for G applications: it holds
    for other applications like those of the suite on the same machines. Ends below zero are zero. NaN ends
    for one application.
    """
    mean = float(np.mean(values))
    groups = np.unique(applications, return_inverse=True)[1]
    count = int(groups.max()) + 1
    if count < 2:
        return Interval(mean, math.nan, math.nan)
    sums = np.bincount(groups, values - mean)
    error = math.sqrt(count / (count - 1) * float(np.sum(sums**2))) / len(values)
    half = _find_t(count - 1, confidence) * error
    return Interval(mean, max(0.0, mean - half), mean + half)


def bound_quantiles(
    values: FloatArray, applications: IntArray, levels: tuple[float, ...], confidence: float, seed: int
) -> tuple[Interval, ...]:
    """Quantiles (type 7) with intervals by drawing whole applications again (percentiles of 999 draws).

    What is drawn is read off 2000 steps of equal weight of the whole distribution, so that an end lies on an
    existing value within 0.05% of rank. NaN ends for one application.
    """
    estimates = [float(value) for value in np.quantile(values, levels)]
    groups = np.unique(applications, return_inverse=True)[1]
    count = int(groups.max()) + 1
    if count < 2:
        return tuple(Interval(value, math.nan, math.nan) for value in estimates)
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _STEPS + 1)[1:], method="inverted_cdf"))
    step = np.searchsorted(edges, values)
    table = np.bincount(groups * len(edges) + step, minlength=count * len(edges)).reshape(count, -1)
    draw = np.random.default_rng(seed)
    drawn = draw.multinomial(count, np.full(count, 1 / count), size=_RESAMPLED)
    # As doubles, which are exact here and have a fast product.
    below = np.cumsum(drawn.astype(np.float64) @ table.astype(np.float64), axis=1)
    tail = (1 - confidence) / 2
    found = []
    for level, estimate in zip(levels, estimates, strict=True):
        places = np.sum(below < level * below[:, -1:], axis=1)
        low, high = np.quantile(edges[np.minimum(places, len(edges) - 1)], [tail, 1 - tail])
        found.append(Interval(estimate, min(float(low), estimate), max(float(high), estimate)))
    return tuple(found)


def _find_t(df: int, confidence: float) -> float:
    return float(stdtrit(df, (1 + confidence) / 2))
