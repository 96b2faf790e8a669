"""How likely `compare` is to see a difference between two versions, and how many builds that takes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import nctdtr, roots_jacobi, stdtrit

from datamill.analysis.model_data.cells import FloatArray

#: How unlike two variances look by chance is integrated at so many points, and up to so many builds; beyond
#: these they look alike.
_POINTS, _UNLIKE = 24, 100
#: The noncentrality is found for each number of builds up to this one, and interpolated in 1 / (builds − 1)
#: between so many above it, up to the largest.
_EACH, _NODES, _LARGEST = 60, 40, 1e7
_HALVINGS = 60


def compute_power(
    builds: ArrayLike, difference: float, build_variance: ArrayLike, alpha: float = 0.05
) -> FloatArray:
    """Return the probability that `compare_versions` detects a difference between two versions.

    Each version has `builds` (2 or more) whose means are normal with `build_variance`. What is computed is
    the power of Welch's test, whose degrees of freedom are between builds − 1 and 2 (builds − 1) and depend
    on how unlike both variances look by chance. Where nothing varies every difference is seen.

    Given the share u of one variance in the sum of both, which is Beta((l − 1)/2, (l − 1)/2) and independent
    of that sum, the statistic is noncentral t with 2 (l − 1) degrees of freedom, and the critical value that
    of (l − 1) / (u² + (1 − u)²): integrated over u, this is exact.
    """
    count = np.asarray(builds, dtype=np.float64)
    variance = np.asarray(build_variance, dtype=np.float64)
    with np.errstate(divide="ignore"):
        shift = np.where(variance > 0, abs(difference) * np.sqrt(count / (2 * variance)), np.inf)
    count, shift = np.broadcast_arrays(count, shift)
    power = np.ones(shift.shape)
    for at in np.ndindex(shift.shape):
        if np.isfinite(shift[at]):
            power[at] = _compute_tails(float(count[at]), min(float(shift[at]), 1e5), alpha)
    return power


def find_noncentrality(builds: FloatArray, alpha: float, power: float) -> FloatArray:
    """Return the noncentrality at which the comparison of so many builds of each version has the power."""
    counts, found = _tabulate_noncentrality(alpha, power)
    exact = found[np.minimum(builds, _EACH).astype(np.int64) - 2]
    if float(np.max(builds)) <= _EACH:
        return exact
    # Imported late: it takes a sixth of a second to load.
    from scipy.interpolate import PchipInterpolator

    between = PchipInterpolator(1 / (counts[: _EACH - 3 : -1] - 1), found[: _EACH - 3 : -1])
    return np.where(builds <= _EACH, exact, between(1 / (np.minimum(builds, _LARGEST) - 1)))


@lru_cache(maxsize=32)
def _tabulate_noncentrality(alpha: float, power: float) -> tuple[FloatArray, FloatArray]:
    """Numbers of builds and the noncentrality at each."""
    counts = np.concatenate([np.arange(2.0, _EACH + 1), np.geomspace(_EACH, _LARGEST, _NODES + 1)[1:]])
    return counts, np.array([_bisect(count, alpha, power) for count in counts])


def _bisect(builds: float, alpha: float, power: float) -> float:
    low, high = 0.0, 1.0
    while _compute_tails(builds, high, alpha) < power:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _compute_tails(builds, middle, alpha) >= power:
            high = middle
        else:
            low = middle
    return high


def allow_variance(builds: FloatArray, difference: float, alpha: float, power: float) -> FloatArray:
    """Return the largest variance of a build's mean with which so many builds of each see a difference."""
    noncentrality = find_noncentrality(builds, alpha, power)
    allowed: FloatArray = builds * difference**2 / (2 * noncentrality**2)
    return allowed


@lru_cache(maxsize=4096)
def _list_critical(builds: float, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Critical values of Welch's test and how often each one is used, as weights."""
    if builds > _UNLIKE:
        # The square of (2 u − 1) is 1 / l on average.
        squares, weights = np.array([1 / builds]), np.ones(1)
    else:
        exponent = (builds - 1) / 2 - 1
        nodes, weights = roots_jacobi(_POINTS, exponent, exponent)
        half = nodes >= 0
        squares, weights = nodes[half] ** 2, weights[half] / np.sum(weights[half])
    return stdtrit(2 * (builds - 1) / (1 + squares), 1 - alpha / 2), weights


def _compute_tails(builds: float, shift: float, alpha: float) -> float:
    critical, weights = _list_critical(builds, alpha)
    df = 2 * (builds - 1)
    # A tail is not a number where it is below 1e-18.
    below = np.nan_to_num(nctdtr(df, shift, -critical), nan=0.0)
    not_seen = np.nan_to_num(nctdtr(df, shift, critical), nan=0.0)
    return float(np.sum(weights * (1 - not_seen + below)))
