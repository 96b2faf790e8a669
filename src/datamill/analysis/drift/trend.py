"""A steady change with run order: Kendall's S within design points, and Sen's slope."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri

from datamill.analysis.drift.drift import RunOrder
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray, IntArray
from datamill.analysis.ordered.ranks import count_inversions

#: Pairs of trials of which slopes are computed; of more, these many are drawn.
_MOST_PAIRS = 200_000


def test_trend(
    order: RunOrder, deviations: FloatArray, place: FloatArray, confidence: float
) -> tuple[float, Interval]:
    """P-value of the seasonal Kendall test, and the change from place 0 to place 1, with Sen's interval.

    `deviations` and `place` (n) are in run order. Source: Hirsch and Slack 1982; Sen 1968.
    """
    score, variance, slopes, pairs = 0.0, 0.0, [], 0
    members = list_members(order.point)
    every = sum(at.size * (at.size - 1) // 2 for at in members)
    random = np.random.default_rng(0)
    for at in members:
        n, values = at.size, deviations[at]
        ties = np.unique(values, return_counts=True)[1].astype(np.float64)
        variance += (n * (n - 1) * (2 * n + 5) - float(np.sum(ties * (ties - 1) * (2 * ties + 5)))) / 18
        # Places grow with the run order.
        score += n * (n - 1) // 2 - float(np.sum(ties * (ties - 1))) / 2 - 2 * count_inversions(values)
        pairs += n * (n - 1) // 2
        slopes.append(_list_slopes(place[at], values, _MOST_PAIRS / every, random))
    found = np.sort(np.concatenate(slopes))
    if variance <= 0:
        return 1.0, Interval(0.0, 0.0, 0.0)
    # The correction for continuity: S moves in steps of two.
    z = max(0.0, abs(score) - 1) / math.sqrt(variance)
    reach = -float(ndtri((1 - confidence) / 2)) * math.sqrt(variance) / pairs
    middle, low, high = np.quantile(found, np.clip([0.5, 0.5 - reach / 2, 0.5 + reach / 2], 0, 1))
    return 2 * float(ndtr(-z)), Interval(float(middle), float(low), float(high))


def list_members(groups: IntArray) -> list[IntArray]:
    """Return the indices of each group's members, in order."""
    sort = np.argsort(groups, kind="stable")
    return np.split(sort, np.flatnonzero(np.diff(groups[sort])) + 1)


def _list_slopes(
    place: FloatArray, values: FloatArray, share: float, random: np.random.Generator
) -> FloatArray:
    """Slopes between pairs of one design point's trials; with `share` below 1 those of random pairs."""
    n = place.size
    if share >= 1:
        first, second = np.triu_indices(n, 1)
    else:
        drawn = math.ceil(share * n * (n - 1) / 2)
        first = random.integers(0, n, drawn)
        second = (first + random.integers(1, n, drawn)) % n
    return np.asarray((values[second] - values[first]) / (place[second] - place[first]), dtype=np.float64)
