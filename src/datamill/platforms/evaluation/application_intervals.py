"""Intervals of figures over many models of few applications."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from datamill.analysis.interval import Interval
from datamill.platforms.scores.score_matrix import FloatArray, IntArray


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
    half = _find_t(count - 1, confidence) * _find_error(values - mean, groups, count)
    return Interval(mean, max(0.0, mean - half), mean + half)


def bound_quantiles(
    values: FloatArray, applications: IntArray, levels: tuple[float, ...], confidence: float
) -> tuple[Interval, ...]:
    """Quantiles (type 7) with their intervals where the applications are independent.

    The share of values up to the quantile has the error of a mean of whole applications (as in `bound_mean`);
    the quantiles at the ends of its interval are the ends here (Woodruff 1952, Journal of the American
    Statistical Association 47). An end beyond all values is 0 or infinite. NaN ends for one application.
    """
    groups = np.unique(applications, return_inverse=True)[1]
    count = int(groups.max()) + 1
    estimates = [float(value) for value in np.quantile(values, levels)]
    if count < 2:
        return tuple(Interval(value, math.nan, math.nan) for value in estimates)
    found = []
    for level, estimate in zip(levels, estimates, strict=True):
        # Of values that are the quantile itself, as large a part is below as makes up the level.
        equal = values == estimate
        part = (level * len(values) - np.sum(values < estimate)) / max(1, np.sum(equal))
        below = (values < estimate) + np.clip(part, 0, 1) * equal
        half = _find_t(count - 1, confidence) * _find_error(below - np.mean(below), groups, count)
        low = float(np.quantile(values, level - half)) if level > half else 0.0
        high = float(np.quantile(values, level + half)) if level + half < 1 else math.inf
        found.append(Interval(estimate, low, high))
    return tuple(found)


def _find_error(deviations: FloatArray, groups: IntArray, count: int) -> float:
    """Standard error of a mean from deviations whose groups are independent."""
    sums = np.bincount(groups, deviations)
    return math.sqrt(count / (count - 1) * float(np.sum(sums**2))) / len(deviations)


def _find_t(df: int, confidence: float) -> float:
    return float(stdtrit(df, (1 + confidence) / 2))
