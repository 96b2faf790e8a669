"""Intervals that stay valid however often they are looked at, and at the moment of stopping."""

from __future__ import annotations

import math

import numpy as np

from datamill.analysis.fieller import bound_ratio
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.sequential.boundaries import find_anytime_critical, find_stopped_critical
from datamill.results.decisions import LookInterval

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
    below `find_anytime_critical`: Fieller's set with a critical value that holds at all looks together.
    Values that come in steps may all be too high or too low by one, and by half of one if rounded: the
    interval is wider by a step.
    """
    n = baseline.size
    middle, above = float(baseline.mean()), float(other.mean())
    if middle == 0:
        return LookInterval(name, n, None, None, None, 1 - alpha)
    critical = float(find_anytime_critical(np.array([n]), alpha)[0])
    spread = np.cov(baseline, other) / n
    ratio = None
    if math.isfinite(critical):
        ratio = bound_ratio(
            above,
            middle,
            numerator_variance=float(spread[1, 1]),
            denominator_variance=float(spread[0, 0]),
            covariance=float(spread[0, 1]),
            critical=critical,
        )
    if ratio is None or ratio.low is None or ratio.high is None:
        return LookInterval(name, n, above / middle - 1, None, None, 1 - alpha)
    # One clock cuts both means in the same direction, rounding by half a step each: a step is enough.
    coarse = max(steps[1], abs(ratio.estimate) * steps[0]) / abs(middle)
    return LookInterval(
        name, n, ratio.estimate - 1, ratio.low - 1 - coarse, ratio.high - 1 + coarse, 1 - alpha
    )


def bound_stopped_mean(
    values: FloatArray, name: str, confidence: float, *, step: float = 0.0
) -> LookInterval:
    """Bound a mean by an interval that is valid where one stops at its width; `values` (R ≥ 2) are rounds.

    A `step` of the values that hides how much they vary (`Rounds.steps`) makes it so much wider.
    """
    n = values.size
    mean = float(values.mean())
    critical = float(find_stopped_critical(np.array([n]), confidence)[0])
    reach = critical * float(values.std(ddof=1)) / math.sqrt(n) + step
    return LookInterval(name, n, mean, mean - reach, mean + reach, confidence)


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
