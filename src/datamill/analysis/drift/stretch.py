"""Consecutive trials whose level differs from that of the others: the lucky hour of ICPE 2013, Figure 1."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from datamill.analysis.drift.drift import RunOrder, Stretch
from datamill.analysis.drift.trend import list_members
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray, IntArray
from datamill.analysis.ordered.ranks import rank_values

#: A level that lasts for fewer trials than this, or less than this share of them, is an outlier, no drift.
_SHORTEST, _SHORTEST_SHARE = 5, 0.02
#: Places where a level may begin or end.
_MOST_BINS = 120
#: Deals with which the largest difference is compared.
DRAWS = 1999
#: Deals that are looked at together.
_AT_ONCE = 200
#: Of these, so many are standardised at once: with thousands of stretches they stay near the processor.
_STANDARDISED = 20
#: From this number of trials on, sums of scores are drawn from their normal distribution.
_LARGE = 4000
#: Pairs of trials of which differences are computed; of more, these many are drawn.
_MOST_PAIRS = 200_000


def find_stretch(
    order: RunOrder, deviations: FloatArray, *, compare_blocks: bool, confidence: float
) -> Stretch | None:
    """Return the consecutive trials, or the block, that differ most from the others; None with too few.

    Normal scores of the ranks within design points are summed over each stretch and standardised; the largest
    sum is compared with the largest ones of scores that are dealt anew within design points.
    """
    n = deviations.size
    bins = order.block if compare_blocks else np.arange(n) * min(n, _MOST_BINS) // n
    bins = np.unique(bins, return_inverse=True)[1].reshape(-1)
    count = int(bins[-1]) + 1 if n else 0
    ends = np.concatenate([[0], np.cumsum(np.bincount(bins, minlength=count))])
    if compare_blocks:
        start, end = np.arange(count), np.arange(count) + 1
    else:
        start, end = np.triu_indices(count + 1, 1)
    sizes = ends[end] - ends[start]
    least = max(_SHORTEST, math.ceil(_SHORTEST_SHARE * n))
    usable = (sizes >= least) & (n - sizes >= least)
    start, end = start[usable], end[usable]
    scores = _score(order.point, deviations)
    covariance = _find_covariance(order.point, bins, scores, count)
    cumulated = np.zeros((count + 1, count + 1))
    cumulated[1:, 1:] = covariance.cumsum(axis=0).cumsum(axis=1)
    variances = cumulated[end, end] - cumulated[start, end] - cumulated[end, start] + cumulated[start, start]
    usable = variances > 1e-9 * max(1.0, float(np.trace(covariance)))
    if not np.any(usable):
        return None
    start, end, spread = start[usable], end[usable], np.sqrt(variances[usable])

    def standardise(sums: FloatArray) -> FloatArray:
        """Standardised sums of the stretches, by row."""
        totals = np.zeros((sums.shape[0], count + 1))
        totals[:, 1:] = np.cumsum(sums, axis=1)
        # Most of a search for drift is spent here, and most of that in memory: no array is made twice.
        standardised: FloatArray = totals.take(end, axis=1)
        standardised -= totals.take(start, axis=1)
        np.abs(standardised, out=standardised)
        standardised /= spread
        return standardised

    own = np.bincount(bins, weights=scores, minlength=count).astype(np.float64)
    observed = standardise(own[None, :])[0]
    at = int(np.argmax(observed))
    higher = 0
    for sums in _draw_sums(order.point, bins, scores, covariance, count):
        for begin in range(0, sums.shape[0], _STANDARDISED):
            highest = np.max(standardise(sums[begin : begin + _STANDARDISED]), axis=1)
            # Rounding must not tell equal sums apart.
            higher += int(np.sum(highest >= observed[at] * (1 - 1e-9)))
    first, last = int(ends[start[at]]), int(ends[end[at]]) - 1
    inside = np.zeros(n, dtype=bool)
    inside[first : last + 1] = True
    return Stretch(
        p=(higher + 1) / (DRAWS + 1),
        first=first + 1,
        last=last + 1,
        block=order.blocks[int(order.block[first])] if compare_blocks else "",
        shift=_measure_shift(order.point, deviations, inside, confidence),
    )


def _score(point: IntArray, deviations: FloatArray) -> FloatArray:
    """Normal scores of the ranks within design points, with mean 0 in each."""
    scores = np.zeros(deviations.size)
    for at in list_members(point):
        own = ndtri(rank_values(deviations[at]) / (at.size + 1))
        scores[at] = own - own.mean()
    return scores


def _find_covariance(point: IntArray, bins: IntArray, scores: FloatArray, count: int) -> FloatArray:
    """Covariance of the bins' sums when scores are dealt anew within design points."""
    points = int(point.max()) + 1
    n = np.bincount(point, minlength=points)
    squares = np.bincount(point, weights=scores**2, minlength=points) / (n - 1)
    where = np.bincount(point * count + bins, minlength=points * count).reshape(points, count)
    weighted = where * (squares / n)[:, None]
    return np.asarray(np.diag(squares @ where) - weighted.T @ where, dtype=np.float64)


def _draw_sums(
    point: IntArray, bins: IntArray, scores: FloatArray, covariance: FloatArray, count: int
) -> Iterator[FloatArray]:
    """Sums of the bins for scores dealt anew within design points, in portions; the same each time."""
    random = np.random.default_rng(0)
    if scores.size > _LARGE:
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0))
        for drawn in range(0, DRAWS, _AT_ONCE):
            yield random.standard_normal((min(_AT_ONCE, DRAWS - drawn), count)) @ root.T
        return
    members = list_members(point)
    ends = np.searchsorted(bins, np.arange(count))
    for drawn in range(0, DRAWS, _AT_ONCE):
        dealt = np.tile(scores, (min(_AT_ONCE, DRAWS - drawn), 1))
        for at in members:
            dealt[:, at] = random.permuted(dealt[:, at], axis=1)
        yield np.add.reduceat(dealt, ends, axis=1)


def _measure_shift(
    point: IntArray, deviations: FloatArray, inside: NDArray[np.bool_], confidence: float
) -> Interval:
    """Median difference of like trials inside and outside, with the interval of van Elteren's test (1960)."""
    differences, pairs, variance = [], 0, 0.0
    random = np.random.default_rng(0)
    members = list_members(point)
    every = sum(int(inside[at].sum() * (~inside[at]).sum()) for at in members)
    for at in members:
        within, others = deviations[at[inside[at]]], deviations[at[~inside[at]]]
        if not within.size or not others.size:
            continue
        own = within.size * others.size
        pairs += own
        variance += own * (at.size + 1) / 12
        if every <= _MOST_PAIRS:
            differences.append((within[:, None] - others[None, :]).reshape(-1))
        else:
            drawn = math.ceil(own * _MOST_PAIRS / every)
            differences.append(random.choice(within, drawn) - random.choice(others, drawn))
    reach = -float(ndtri((1 - confidence) / 2)) * math.sqrt(variance) / pairs
    wanted = np.clip([0.5, 0.5 - reach, 0.5 + reach], 0, 1)
    middle, low, high = np.quantile(np.concatenate(differences), wanted)
    return Interval(float(middle), float(low), float(high))
