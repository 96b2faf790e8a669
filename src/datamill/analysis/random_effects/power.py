"""How likely a comparison of two versions is to see a difference, and how many builds that takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import nctdtr, stdtrit

from datamill.analysis.model_data.cells import FloatArray

#: Beyond these degrees of freedom the noncentrality is a straight line in 1 / df between so many of them, to
#: nine digits.
_LARGE_DF, _NODES = 1000.0, 200
_HALVINGS = 60


def compute_power(
    builds: ArrayLike, difference: float, build_variance: ArrayLike, alpha: float = 0.05
) -> FloatArray:
    """Return the probability that Student's two-sided test sees a difference between two versions.

    Each version has `builds` (2 or more) whose means are normal with `build_variance`; df = 2 (builds − 1).
    Where nothing varies every difference is seen. Noncentral t (Johnson and Welch 1940).
    """
    count = np.asarray(builds, dtype=np.float64)
    variance = np.asarray(build_variance, dtype=np.float64)
    with np.errstate(divide="ignore"):
        shift = np.where(variance > 0, abs(difference) * np.sqrt(count / (2 * variance)), np.inf)
    return np.where(np.isfinite(shift), _compute_tails(2 * (count - 1), np.minimum(shift, 1e3), alpha), 1.0)


def find_noncentrality(df: FloatArray, alpha: float, power: float) -> FloatArray:
    """Return the noncentrality at which the two-sided t test with each `df` has the power.

    By bisection of noncentral t; for many degrees of freedom interpolated in their reciprocal.
    """
    largest = float(np.max(df))
    if largest > _LARGE_DF:
        nodes = np.geomspace(_LARGE_DF, largest, _NODES)
        at = _bisect(nodes, alpha, power)
        found: FloatArray = np.interp(1 / df, 1 / nodes[::-1], at[::-1])
        few = df < _LARGE_DF
        found[few] = _bisect(df[few], alpha, power)
        return found
    return _bisect(df, alpha, power)


def _bisect(df: FloatArray, alpha: float, power: float) -> FloatArray:
    low = np.zeros(len(df))
    # With one degree of freedom the noncentrality is far above the sum of both quantiles of t.
    high: FloatArray = stdtrit(df, 1 - alpha / 2) + stdtrit(df, power) + 5.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = _compute_tails(df, middle, alpha) >= power
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def allow_variance(builds: FloatArray, difference: float, alpha: float, power: float) -> FloatArray:
    """Return the largest variance of a build's mean with which so many builds of each see a difference."""
    noncentrality = find_noncentrality(2 * (builds - 1), alpha, power)
    allowed: FloatArray = builds * difference**2 / (2 * noncentrality**2)
    return allowed


def _compute_tails(df: FloatArray, shift: FloatArray, alpha: float) -> FloatArray:
    critical = stdtrit(df, 1 - alpha / 2)
    # The lower tail is not a number where it is below 1e-18.
    below = np.nan_to_num(nctdtr(df, shift, -critical), nan=0.0)
    tails: FloatArray = 1 - nctdtr(df, shift, critical) + below
    return tails
