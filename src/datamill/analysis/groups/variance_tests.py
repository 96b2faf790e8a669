"""Tests of spread: the variance ratio F for normal observations, Brown–Forsythe for others."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import fdtr, fdtrc, fdtri, ndtri

from datamill.analysis.groups.mean_tests import STILL, gather_group_moments
from datamill.analysis.groups.records import Group, GroupEstimate, GroupTest
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.records import Interval


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

    For two groups the estimate is the ratio of these deviations, with the interval of Bonett and
    Seier (2003) on the logarithmic scale.
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
        how = "Bonett and Seier's interval"
        interval = _bound_ratio(groups[0].values, groups[1].values, confidence)
        estimates = (GroupEstimate("ratio of mean absolute deviations", interval, "ratio", confidence, how),)
    p = float(fdtrc(*df, statistic))
    if np.min(sizes) < 10:
        warnings = (
            f"with {int(np.min(sizes))} observations in a group test and interval are rough: the test may "
            "detect hardly anything, or, of skewed observations, differences that are none",
        )
    if estimates:
        value = estimates[0].value
        if (p < 1 - confidence) == (value.low <= 1 <= value.high):
            warnings += (
                "the test of spreads and the interval of their ratio come from different methods, which "
                "disagree here: take neither as settled",
            )
    return GroupTest(name, "F", statistic, df, p, estimates, method, warnings)


def _bound_ratio(first: FloatArray, second: FloatArray, confidence: float) -> Interval:
    logs, variance = 0.0, 0.0
    for sign, values in ((-1, first), (1, second)):
        n = values.size
        median, mean = float(np.median(values)), float(np.mean(values))
        deviation = float(np.mean(np.abs(values - median)))
        skew, squared = (mean - median) / deviation, float(np.var(values, ddof=1)) / deviation**2
        logs += sign * math.log(deviation * n / (n - 1))
        variance += (squared + skew * skew - 1) / n
    reach = -float(ndtri((1 - confidence) / 2)) * math.sqrt(max(variance, 0.0))
    return Interval(math.exp(logs), math.exp(logs - reach), math.exp(logs + reach))
