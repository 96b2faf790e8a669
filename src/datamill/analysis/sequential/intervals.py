"""Intervals that stay valid however often they are looked at, and at the moment of stopping."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from datamill.analysis.contrasts.fieller import bound_ratio
from datamill.analysis.distribution.skewed_means import find_skewness
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.sequential.boundaries import (
    find_anytime_critical,
    find_stopped_critical,
    widen_for_skewness,
)
from datamill.results.bundles.decisions import LookInterval

#: Departures from equality that rounding explains.
_ROUNDING = 1e-12


def bound_relative_difference(
    baseline: FloatArray,
    other: FloatArray,
    name: str,
    alpha: float,
    *,
    steps: tuple[float, float] = (0.0, 0.0),
) -> LookInterval:
    """Bound by how much the mean of one package departs from that of the other, as a share of the latter.

    Args:
        baseline: one value a round (R ≥ 2).
        other: those of the other package in the same rounds.
        name: what the interval is called.
        alpha: chance that the true difference ever lies outside, at any number of rounds.
        steps: those of the values of either that hide how much they vary (`Rounds.steps`), else 0.

    For the true ratio ρ of means, other − ρ · baseline has mean zero in every round, whatever noise both
    share. The interval holds every ρ, less 1, for which Student's statistic of these differences stays
    below `find_anytime_critical`: Fieller's set with a critical value that holds at all looks together. One
    bound is wider where differences at the estimate are skewed (`widen_for_skewness`): skewness cancels where
    both packages have it alike, and makes early looks err where only one has.
    Values that come in steps may all be too high or too low by one, and by half of one if rounded: the
    interval is wider by a step.
    """
    n = baseline.size
    middle, above = float(baseline.mean()), float(other.mean())
    if middle == 0:
        return LookInterval(name, n, None, None, None, 1 - alpha)
    critical = float(find_anytime_critical(np.array([n]), alpha)[0])
    estimate = above / middle
    spread = np.cov(baseline, other) / n

    def bound(reach: float) -> tuple[float | None, float | None]:
        if not math.isfinite(reach):
            return None, None
        ratio = bound_ratio(
            above,
            middle,
            numerator_variance=float(spread[1, 1]),
            denominator_variance=float(spread[0, 0]),
            covariance=float(spread[0, 1]),
            critical=reach,
        )
        return (None, None) if ratio is None else (ratio.low, ratio.high)

    skewness = find_skewness((other - estimate * baseline) / middle, _ROUNDING)
    low, high = bound(critical)
    far_low, far_high = bound(_widen(critical, skewness, n))
    low, high = (low, far_high) if skewness > 0 else (far_low, high)
    if low is None or high is None:
        return LookInterval(name, n, estimate - 1, None, None, 1 - alpha)
    # One clock cuts both means in the same direction, rounding by half a step each: a step is enough.
    coarse = max(steps[1], abs(estimate) * steps[0]) / abs(middle)
    return LookInterval(name, n, estimate - 1, low - 1 - coarse, high - 1 + coarse, 1 - alpha)


def _widen(critical: float, skewness: float, n: int) -> float:
    return float(widen_for_skewness(np.array(critical), np.array(skewness), np.array(float(n))))


def bound_stopped_mean(
    values: FloatArray, name: str, confidence: float, *, step: float = 0.0
) -> LookInterval:
    """Bound a mean by an interval that is valid where one stops at its width; `values` (R ≥ 2) are rounds.

    A `step` of the values that hides how much they vary (`Rounds.steps`) makes it so much wider, and skewness
    makes it wider on the side where long tails are.
    """
    n = values.size
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(n)
    reach = float(find_stopped_critical(np.array([n]), confidence)[0]) * error + step
    skewness = find_skewness(values / mean, _ROUNDING) if mean else 0.0
    quantile = float(stdtrit(n - 1, (1 + confidence) / 2))
    more = (_widen(quantile, skewness, n) - quantile) * error
    below, above = (reach, reach + more) if skewness * mean > 0 else (reach + more, reach)
    return LookInterval(name, n, mean, mean - below, mean + above, confidence)


def bound_anytime_mean(
    values: FloatArray, name: str, confidence: float, *, step: float = 0.0
) -> LookInterval:
    """Bound a mean by an interval that is valid at any number of rounds; `values` (R ≥ 2) are rounds.

    It holds every mean for which Student's statistic stays below `find_anytime_critical`; without bounds
    where rounds are too few. `step` and skewness make it wider as for `bound_stopped_mean`.
    """
    n = values.size
    mean = float(values.mean())
    critical = float(find_anytime_critical(np.array([n]), 1 - confidence)[0])
    if not math.isfinite(critical):
        return LookInterval(name, n, mean, None, None, confidence)
    error = float(values.std(ddof=1)) / math.sqrt(n)
    skewness = find_skewness(values / mean, _ROUNDING) if mean else 0.0
    near, far = critical * error + step, _widen(critical, skewness, n) * error + step
    below, above = (near, far) if skewness * mean > 0 else (far, near)
    return LookInterval(name, n, mean, mean - below, mean + above, confidence)


def excludes_zero(interval: LookInterval) -> bool:
    """Tell whether a relative difference is certainly one."""
    if interval.low is None or interval.high is None:
        return False
    return interval.low > _ROUNDING or interval.high < -_ROUNDING


def lies_within(interval: LookInterval, limit: float) -> bool:
    """Tell whether a relative difference is certainly smaller than a limit."""
    if interval.low is None or interval.high is None:
        return False
    return -limit < interval.low and interval.high < limit
