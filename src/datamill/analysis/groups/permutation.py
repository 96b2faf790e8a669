"""Permutation tests of means: labels exchanged in every way, or at random, with a stated seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from datamill.analysis.groups.group_comparison import Group, GroupEstimate, GroupTest
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray, IntArray
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_figures

#: With no more ways than this to exchange labels, all are gone through.
MOST_ENUMERATED = 20_000
#: Random exchanges, for as many observations at most; beyond, it would take minutes.
_EXCHANGES = ((10_000, 9_999), (100_000, 1_999))
#: Numbers in memory at a time.
_AT_A_TIME = 2_000_000


def permute_two_groups(pairs: Sequence[tuple[Group, Group]], confidence: float, seed: int) -> GroupTest:
    """Difference of two means against its distribution when labels are exchanged.

    One pair of groups, or one for each stratum: then labels are exchanged within strata, and the
    difference is the mean of the strata's. Two-sided p is twice the smaller tail; at random
    exchanges a tail is (b + 1) / (m + 1), with b of m as extreme. The interval inverts the test with
    the same exchanges: an exchange is a threshold of the shift from which on it is as extreme, so
    that the bounds are order statistics (Garthwaite 1996).
    """
    if any(min(first.n, second.n) < 1 for first, second in pairs):
        raise InputError("a group is empty", remedy="Leave it out, or add observations.")
    name = "permutation of means"
    joined = [np.concatenate([first.values, second.values]) for first, second in pairs]
    difference = float(np.mean([np.mean(second.values) - np.mean(first.values) for first, second in pairs]))
    if not any(np.ptp(values) for values in joined):
        return GroupTest(name, "difference of means", 0.0, (), None, (), name)
    thresholds, exact = _list_thresholds(joined, [first.n for first, _ in pairs], difference, seed)
    # The order that was observed is as extreme at any shift: the + 1 of both cases.
    count = thresholds.size + 1
    # Zero but for rounding is zero, for p and as an end of the interval.
    rounding = max(_measure_rounding(first, second) for first, second in pairs)
    thresholds[np.abs(thresholds) <= rounding] = 0.0
    low_tail = (1 + int(np.sum(thresholds >= 0))) / count
    high_tail = (1 + int(np.sum(thresholds <= 0))) / count
    within = " within strata" if len(pairs) > 1 else ""
    how = (
        f"all {count} ways to exchange labels"
        if exact
        else f"{thresholds.size} random exchanges of labels{within}, seed {seed}"
    )
    low, high, attained = _bound_shift(thresholds, confidence)
    warnings = []
    if attained < confidence * (1 - 1e-12):
        warnings.append(
            f"with {pairs[0][0].n} against {pairs[0][1].n} observations no permutation test can give a p "
            f"below {format_figures(2 / count, 2)}, so that none can detect anything at alpha "
            f"{format_figures(1 - confidence, 2)}"
        )
    estimate = GroupEstimate(
        "difference of means",
        Interval(difference, low, high),
        "response",
        attained,
        "inversion of the permutation test",
    )
    p = min(1.0, 2 * min(low_tail, high_tail))
    method = f"permutation test of the difference of means, {how}"
    return GroupTest(name, "difference of means", difference, (), p, (estimate,), method, tuple(warnings))


def permute_groups(groups: tuple[Group, ...], seed: int) -> GroupTest:
    """Whether several groups have the same mean: the sum of squares between groups under random exchanges."""
    values = np.concatenate([group.values for group in groups])
    sizes = np.array([group.n for group in groups])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    centred = values - np.mean(values)
    name = "permutation of means"
    if not np.any(centred):
        return GroupTest(name, "between-group sum of squares", None, (), None, (), name)
    observed = float(np.sum(np.add.reduceat(centred, starts) ** 2 / sizes))
    exchanges = _count_exchanges(values.size)
    # What rounding of the means makes of equal sums of squares.
    rounding = _measure_rounding(*groups)
    least = observed - 2 * rounding * math.sqrt(values.size * observed) - values.size * rounding**2
    extreme = 0
    for order in _draw_orders(values.size, exchanges, seed):
        between = np.sum(np.add.reduceat(centred[order], starts, axis=1) ** 2 / sizes, axis=1)
        extreme += int(np.sum(between >= least))
    return GroupTest(
        name,
        "between-group sum of squares",
        observed,
        (),
        (extreme + 1) / (exchanges + 1),
        (),
        f"permutation test of the means, {exchanges} random exchanges of labels, seed {seed}",
    )


def _measure_rounding(*groups: Group) -> float:
    """How far apart rounding may set means that are equal, that of the observations themselves included.

    Beside a large offset (1000000.1) observations are not exact, and neither are differences that tie.
    """
    largest = max(abs(group.origin) + float(np.max(np.abs(group.values))) for group in groups)
    spread = max(float(np.max(np.abs(group.values))) for group in groups)
    return max(1e-12 * spread, 4 * float(np.finfo(np.float64).eps) * largest)


def _list_thresholds(
    joined: Sequence[FloatArray], firsts: Sequence[int], difference: float, seed: int
) -> tuple[FloatArray, bool]:
    """Sorted shifts at which exchanges, all but the observed order, are as extreme as what was observed."""
    m, n = firsts[0], joined[0].size - firsts[0]
    exact = len(joined) == 1 and math.comb(m + n, n) <= MOST_ENUMERATED
    if exact:
        a, b = _exchange(joined[0], m, np.array(list(combinations(range(m + n), n)), dtype=np.int64))
    else:
        exchanges = _count_exchanges(sum(values.size for values in joined))
        a, b = np.zeros(exchanges), np.zeros(exchanges)
        for stratum, (values, m) in enumerate(zip(joined, firsts, strict=True)):
            start = 0
            for orders in _draw_orders(values.size, exchanges, (seed, stratum)):
                part = slice(start, start + orders.shape[0])
                start += orders.shape[0]
                of_a, of_b = _exchange(values, m, orders[:, m:])
                a[part] += of_a / len(joined)
                b[part] += of_b / len(joined)
    # Under a shift d the exchanged difference is a − b·d, the observed one difference − d.
    moved = b < 1 - 1e-12
    return np.sort((difference - a[moved]) / (1 - b[moved])), exact


def _exchange(values: FloatArray, m: int, chosen: IntArray) -> tuple[FloatArray, FloatArray]:
    """Differences of means when the chosen rows form the second group, and their change per unit of shift."""
    n = values.size - m
    sums, own = np.sum(values[chosen], axis=1), np.sum(chosen >= m, axis=1)
    return sums / n - (float(np.sum(values)) - sums) / m, own / n - (n - own) / m


def _count_exchanges(size: int) -> int:
    for largest, exchanges in _EXCHANGES:
        if size <= largest:
            return exchanges
    raise InputError(
        f"a permutation test of {size} observations would take minutes",
        remedy="Means of so many are normal whatever their distribution: choose "
        f"{argument('assume', 'normal')}.",
    )


def _draw_orders(size: int, exchanges: int, seed: int | tuple[int, ...]) -> Iterator[IntArray]:
    generator = np.random.default_rng(seed)
    step = max(1, _AT_A_TIME // size)
    for start in range(0, exchanges, step):
        rows = min(step, exchanges - start)
        yield generator.permuted(np.tile(np.arange(size), (rows, 1)), axis=1)


def _bound_shift(thresholds: FloatArray, confidence: float) -> tuple[float, float, float]:
    """Shifts that the test does not reject, from sorted thresholds; and the confidence that this reaches."""
    count = thresholds.size + 1
    # A shift beyond which `spare` thresholds lie has tail (1 + spare) / count: at most half of alpha.
    spare = math.floor((1 - confidence) / 2 * count * (1 + 1e-12)) - 1
    attained = confidence
    if spare < 0:
        spare, attained = 0, 1 - 2 / count
    return float(thresholds[spare]), float(thresholds[thresholds.size - 1 - spare]), attained
