"""Mann–Whitney over several strata at once: the test of van Elteren with its shift."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from datamill.analysis.groups.group_comparison import Group, GroupEstimate, GroupTest
from datamill.analysis.groups.ranks.rank_sums import count_rank_sums
from datamill.analysis.groups.ranks.rank_tests import INTERVAL_WITH_TIES
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.ordered.ranks import rank_values
from datamill.experiment.messages.numbers import format_figures

#: So many differences are listed; with more, the shift is found by bisection.
_MOST_LISTED = 200_000


#: Up to this number of distinct sums their distribution is exact.
_MOST_SUMS = 20_000
_LARGEST_STRATUM = 60


def compare_van_elteren(pairs: Sequence[tuple[Group, Group]], confidence: float) -> GroupTest:
    """Whether the second of two groups tends to be larger than the first within strata (van Elteren 1960).

    Ranks within each stratum, statistics weighted by 1 / (observations + 1); p from the exact
    distribution for small strata, else by the normal approximation with tie correction. The shift
    is the median of the differences within strata under the same weights; its interval inverts the
    test.
    """
    name = "van Elteren"
    weights = [1 / (first.n + second.n + 1) for first, second in pairs]
    ranks = [rank_values(np.concatenate([first.values, second.values])) for first, second in pairs]
    sizes = [second.n for _, second in pairs]
    statistic = middle = variance = without_ties = 0.0
    for weight, own, (first, second) in zip(weights, ranks, pairs, strict=True):
        m, n = first.n, second.n
        counts = np.unique(own, return_counts=True)[1].astype(np.float64)
        ties = float(np.sum(counts**3 - counts))
        statistic += weight * (float(np.sum(own[m:])) - n * (n + 1) / 2)
        middle += weight * m * n / 2
        plain = weight**2 * m * n / 12
        variance += plain * (m + n + 1 - ties / ((m + n) * (m + n - 1)))
        without_ties += plain * (m + n + 1)
    if variance <= 0:
        return GroupTest(name, "z", None, (), None, (), "van Elteren's test: Mann-Whitney within strata")
    z = (statistic - middle) / math.sqrt(variance)
    exact = _spread_sums(ranks, sizes, weights)
    if exact is None:
        p, how_p = min(1.0, 2 * float(ndtr(-abs(z)))), "normal approximation"
        reach, attained = -float(ndtri((1 - confidence) / 2)) * math.sqrt(without_ties), confidence
    else:
        sums, shares = exact
        slack = 1e-9 * middle
        lower = float(np.sum(shares[sums <= statistic + slack]))
        upper = float(np.sum(shares[sums >= statistic - slack]))
        p, how_p = min(1.0, 2 * min(lower, upper)), "exact distribution"
        plain_ranks = [np.arange(1.0, own.size + 1) for own in ranks]
        reach, attained = _find_reach(_spread_sums(plain_ranks, sizes, weights) or exact, middle, confidence)
    warnings: tuple[str, ...] = ()
    if variance < without_ties * (1 - 1e-12):
        warnings = (INTERVAL_WITH_TIES,)
    if attained < confidence * (1 - 1e-12):
        warnings = (
            "there are too few observations over all strata for any p below "
            f"{format_figures(1 - attained, 2)}, so that none can detect anything at alpha "
            f"{format_figures(1 - confidence, 2)}",
            *warnings,
        )
    method = f"van Elteren's test: Mann-Whitney within strata, {how_p}"
    estimates = _estimate_shifts(pairs, weights, middle, reach, attained)
    return GroupTest(name, "z", z, (), p, tuple(estimates), method, warnings)


def _spread_sums(
    ranks: Sequence[FloatArray], sizes: Sequence[int], weights: Sequence[float]
) -> tuple[FloatArray, FloatArray] | None:
    """Values of the statistic and their probabilities when labels are exchanged; None where too many."""
    sums: FloatArray = np.zeros(1)
    shares: FloatArray = np.ones(1)
    for own, n, weight in zip(ranks, sizes, weights, strict=True):
        if own.size > _LARGEST_STRATUM:
            return None
        counts = count_rank_sums(own, n)
        places = np.flatnonzero(counts)
        if places.size * sums.size > 100 * _MOST_SUMS:
            return None
        values = (places / 2 - n * (n + 1) / 2) * weight
        added = np.add.outer(sums, values).ravel()
        joint = np.multiply.outer(shares, counts[places] / np.sum(counts)).ravel()
        # Sums that differ by rounding only are one.
        kept, of_sum = np.unique(np.round(added, 9), return_index=True, return_inverse=True)[1:]
        sums, shares = (
            added[kept],
            np.asarray(np.bincount(of_sum.reshape(-1), weights=joint), dtype=np.float64),
        )
        if sums.size > _MOST_SUMS:
            return None
    return sums, shares


def _find_reach(
    distribution: tuple[FloatArray, FloatArray], middle: float, confidence: float
) -> tuple[float, float]:
    """How far from the middle the statistic may be without being rejected, and the confidence of that."""
    sums, shares = distribution
    tails = np.cumsum(shares[::-1])[::-1]
    rejected = np.flatnonzero(tails <= (1 - confidence) / 2 * (1 + 1e-9))
    if rejected.size:
        return float(sums[rejected[0]]) - middle - 1e-9 * middle, confidence
    return float(sums[-1]) - middle - 1e-9 * middle, 1 - 2 * float(tails[-1])


def _estimate_shifts(
    pairs: Sequence[tuple[Group, Group]],
    weights: Sequence[float],
    middle: float,
    reach: float,
    confidence: float,
) -> list[GroupEstimate]:
    how = "median of the differences within strata; interval by inverting the test"
    plain = [(first.values, second.values) for first, second in pairs]
    shift = _find_shift(plain, weights, middle, reach)
    estimates = [GroupEstimate("Hodges-Lehmann shift", shift, "response", confidence, how)]
    absolute = [(first.values + first.origin, second.values + second.origin) for first, second in pairs]
    if min(float(np.min(values)) for pair in absolute for values in pair) > 0:
        logs = [(np.log(below), np.log(above)) for below, above in absolute]
        found = _find_shift(logs, weights, middle, reach)
        ratio = Interval(math.exp(found.estimate), math.exp(found.low), math.exp(found.high))
        text = how.replace("differences", "ratios")
        estimates.append(GroupEstimate("ratio", ratio, "ratio", confidence, text))
    return estimates


def _find_shift(
    pairs: Sequence[tuple[FloatArray, FloatArray]], weights: Sequence[float], middle: float, reach: float
) -> Interval:
    if sum(first.size * second.size for first, second in pairs) <= _MOST_LISTED:
        return _list_shift(pairs, weights, middle, reach)
    ordered = [(np.sort(first), second) for first, second in pairs]

    def weigh_above(shift: float) -> float:
        """Weight of the pairs whose difference exceeds the shift, those equal to it by half."""
        total = 0.0
        for weight, (first, second) in zip(weights, ordered, strict=True):
            sides = [np.searchsorted(first, second - shift, side=side) for side in ("left", "right")]
            total += weight * float(np.sum(sides[0]) + np.sum(sides[1])) / 2
        return total

    ends = (
        min(float(np.min(second) - first[-1]) for first, second in ordered),
        max(float(np.max(second) - first[0]) for first, second in ordered),
    )
    # The shift is between where more than the middle lies above and where less does.
    estimate = (
        _bisect(lambda shift: weigh_above(shift) > middle * (1 + 1e-12), *ends)
        + _bisect(lambda shift: weigh_above(shift) >= middle * (1 - 1e-12), *ends)
    ) / 2
    low = _bisect(lambda shift: weigh_above(shift) > middle + reach, *ends)
    high = _bisect(lambda shift: weigh_above(shift) >= middle - reach, *ends)
    return Interval(estimate, low, high)


def _list_shift(
    pairs: Sequence[tuple[FloatArray, FloatArray]], weights: Sequence[float], middle: float, reach: float
) -> Interval:
    """The same from all differences within strata, in order."""
    differences = np.concatenate([np.subtract.outer(second, first).ravel() for first, second in pairs])
    sizes = [first.size * second.size for first, second in pairs]
    order = np.argsort(differences, kind="stable")
    differences = differences[order]
    above = 2 * middle - np.cumsum(np.repeat(weights, sizes)[order])

    def find(weight: float) -> float:
        """The first difference above which there is no more than this weight."""
        return float(differences[min(int(np.argmax(above <= weight)), differences.size - 1)])

    slack = 1e-9 * middle
    estimate = (find(middle + slack) + find(middle - slack)) / 2
    return Interval(estimate, find(middle + reach), find(max(middle - reach, 0.0) + slack))


def _bisect(is_left: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition ceases to hold, to the last digits of a double; it holds for small numbers."""
    if not is_left(low):
        return low
    span = high - low
    for _ in range(80):
        middle = low + (high - low) / 2
        if middle in (low, high) or high - low <= 1e-15 * span:
            break
        low, high = (middle, high) if is_left(middle) else (low, middle)
    return high
