"""Tests of spread: the variance ratio F for normal observations, Brown–Forsythe for others."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import fdtr, fdtrc, fdtri, stdtrit

from datamill.analysis.groups.group_comparison import Group, GroupEstimate, GroupTest
from datamill.analysis.groups.means.mean_tests import STILL, gather_group_moments
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray


def compare_variances(first: Group, second: Group, confidence: float) -> GroupTest:
    """Ratio of two variances of normal observations (F; ASPLOS 2013, section 7)."""
    moments = gather_group_moments((first, second))
    name, method = "variance ratio F", "variance ratio F test"
    if np.any(moments.variances == 0):
        return GroupTest(name, "F", None, (), None, (), method, (STILL.replace("each group", "a group"),))
    ratio = float(moments.variances[1] / moments.variances[0])
    df = (float(moments.sizes[1] - 1), float(moments.sizes[0] - 1))
    p = min(1.0, 2 * min(float(fdtr(*df, ratio)), float(fdtrc(*df, ratio))))
    tail = (1 - confidence) / 2
    # The upper quantile by exchanging the degrees of freedom keeps its digits.
    low, high = ratio * float(fdtri(df[1], df[0], tail)), ratio / float(fdtri(*df, tail))
    deviations = Interval(math.sqrt(ratio), math.sqrt(low), math.sqrt(high))
    how = "quantiles of F; assumes normal observations"
    estimates = (
        GroupEstimate("ratio of standard deviations", deviations, "ratio", confidence, how),
        GroupEstimate("ratio of variances", Interval(ratio, low, high), "ratio", confidence, how),
    )
    return GroupTest(name, "F", ratio, df, p, estimates, method)


def compare_brown_forsythe(groups: tuple[Group, ...], confidence: float) -> GroupTest:
    """Whether groups have the same mean absolute deviation from their medians (Brown and Forsythe 1974).

    For two groups the estimate is the ratio of these deviations; its interval inverts the test, so that it
    holds 1 just where the test finds nothing. It takes the groups' distributions as alike but for place
    and spread, as the test does. An end may be 0 or infinite, where deviations are few and vary much.
    """
    gather_group_moments(groups)
    away = [np.abs(group.values - np.median(group.values)) for group in groups]
    total, k = sum(item.size for item in away), len(groups)
    means = np.array([float(np.mean(item)) for item in away])
    sizes = np.array([float(item.size) for item in away])
    within = sum(float(np.sum((item - mean) ** 2)) for item, mean in zip(away, means, strict=True))
    middle = float(np.sum(sizes * means)) / total
    between = float(np.sum(sizes * (means - middle) ** 2)) / (k - 1)
    df = (k - 1.0, float(total - k))
    name, method = "Brown-Forsythe", "Brown-Forsythe, analysis of variance of deviations from the medians"
    scale = max(float(np.max(means)), 0.0)
    if scale == 0 or within <= total * (1e-14 * scale) ** 2:
        return GroupTest(name, "F", None, df, None, (), method, (STILL,))
    statistic = between / (within / df[1])
    estimates: tuple[GroupEstimate, ...] = ()
    warnings: tuple[str, ...] = ()
    if k == 2 and np.min(means) > 0:
        how = "interval by inverting the Brown-Forsythe test"
        interval = _bound_ratio(away[0], away[1], confidence)
        estimates = (GroupEstimate("ratio of mean absolute deviations", interval, "ratio", confidence, how),)
    elif k == 2:
        # One group does not vary, so that there is no ratio: of two groups the test is Student's.
        gap = float(means[1] - means[0])
        error = math.sqrt(within / df[1] * float(np.sum(1 / sizes)))
        reach = -float(stdtrit(df[1], (1 - confidence) / 2)) * error
        interval, how = Interval(gap, gap - reach, gap + reach), "Student's t of the deviations, as the test"
        estimates = (
            GroupEstimate("difference of mean absolute deviations", interval, "response", confidence, how),
        )
    p = float(fdtrc(*df, statistic))
    if np.min(sizes) < 10:
        warnings = (
            f"with {int(np.min(sizes))} observations in a group test and interval are rough: the test may "
            "detect hardly anything, or, of skewed observations, differences that do not exist",
        )
    return GroupTest(name, "F", statistic, df, p, estimates, method, warnings)


def _bound_ratio(first: FloatArray, second: FloatArray, confidence: float) -> Interval:
    """Ratios by which the second group's deviations may be divided before the test tells the groups apart.

    With means a and b of the deviations, their sums of squares S, c of Student's t, and r = b / (a · ratio),
    the test keeps (1 − r)² ≤ c (S_a / a² + r² S_b / b²); a quadratic inequality as Fieller's.
    """
    m, n = first.size, second.size
    a, b = float(np.mean(first)), float(np.mean(second))
    # In units of the means, so that no unit makes powers over- or underflow.
    squares = [float(np.sum((item / mean - 1) ** 2)) for item, mean in ((first, a), (second, b))]
    c = float(stdtrit(m + n - 2, (1 - confidence) / 2)) ** 2 * (1 / m + 1 / n) / (m + n - 2)
    of_first, of_second = 1 - c * squares[0], 1 - c * squares[1]
    middle = 1 + math.sqrt(max(0.0, 1 - of_first * of_second))
    low = b / a * of_second / middle if of_second > 0 else 0.0
    high = b / a * middle / of_first if of_first > 0 else math.inf
    # A median lies near the observations that gave it, the more so the fewer they are.
    unbiased = b / a * (n / (n - 1)) / (m / (m - 1)) if min(m, n) > 1 else b / a
    return Interval(min(max(unbiased, low), high), low, high)
