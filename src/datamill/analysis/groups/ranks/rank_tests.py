"""Rank tests: Mann–Whitney with its shift and rank effect, Kruskal–Wallis with its effect size."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.special import chdtrc, chdtri, expit, ndtr, ndtri, stdtrit

from datamill.analysis.groups.group_comparison import Group, GroupEstimate, GroupTest
from datamill.analysis.groups.ranks.pairwise_differences import select_differences
from datamill.analysis.groups.ranks.rank_sums import count_rank_sums, find_tails
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.ordered.ranks import rank_values
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_figures

#: Groups below this size are compared by the exact distribution of their ranks, as in R.
EXACT_BELOW = 50
#: Fewer observations than this are compared exactly with many more as well, up to tables of so many numbers.
_FEW, _LARGEST_TABLE = 10, 10**8
#: Warning of intervals that invert the test as it would be without ties.
INTERVAL_WITH_TIES = "there are ties, which the interval of the shift does not know of: it is too wide"


def compare_mann_whitney(first: Group, second: Group, confidence: float) -> GroupTest:
    """Whether observations of the second group tend to be larger than those of the first (Mann–Whitney).

    The p-value is exact (conditional on ties) below 50 observations a group, and where fewer than 10
    stand against many; else normal with tie and continuity correction. Estimates: the share of pairs
    in which the second is larger, ties counted half (probability of superiority; Vargha and Delaney's
    A); the Hodges–Lehmann shift with the interval that inverts the test; and, where all values are
    positive, the same for ratios.
    """
    m, n = first.n, second.n
    if min(m, n) < 1:
        raise InputError("a group is empty", remedy="Leave it out, or add observations.")
    ranks = rank_values(np.concatenate([first.values, second.values]))
    ties = _count_ties(ranks)
    statistic = float(np.sum(ranks[m:])) - n * (n + 1) / 2
    exact, few = _is_exact(m, n), min(m, n) < _FEW
    warnings = []
    if exact:
        # Tails of the smaller group's ranks are the same ones, and found sooner.
        part = ranks[m:] if n <= m else ranks[:m]
        lower, upper = find_tails(ranks, part.size, float(np.sum(part)))
        p: float | None = min(1.0, 2 * min(lower, upper))
        method = "exact distribution of the ranks" + (", given the ties" if ties else "")
    else:
        p = _approximate(statistic, m, n, ties)
        method = f"{'uniform' if few else 'normal'} approximation with tie and continuity correction"
    if ties == math.inf:
        p = None
    smallest = 2 / math.comb(m + n, n) if exact or few else 0.0
    if smallest > 1 - confidence:
        warnings.append(
            f"with {m} against {n} observations no rank test can give a p below "
            f"{format_figures(smallest, 2)}, "
            f"so that none can detect anything at alpha {format_figures(1 - confidence, 2)}"
        )
    if ties and p is not None:
        warnings.append(INTERVAL_WITH_TIES)
    estimates = [_estimate_superiority(first, second, statistic, p, confidence)]
    if np.ptp(first.values) > 0 or np.ptp(second.values) > 0:
        estimates += _estimate_shifts(first, second, confidence)
    else:
        warnings.append(
            "observations within each group do not differ at all: a shift has no interval; true of a "
            "deterministic response, suspicious otherwise"
        )
    return GroupTest(
        "Mann-Whitney", "U", statistic, (), p, tuple(estimates), f"Mann-Whitney, {method}", tuple(warnings)
    )


def compare_kruskal_wallis(groups: tuple[Group, ...], confidence: float) -> GroupTest:
    """Whether several groups have the same distribution (Kruskal and Wallis 1952), corrected for ties.

    ε² = H / (n − 1) is the share of the variance of the ranks that lies between groups; its interval
    holds at least at the level stated (see `_bound_epsilon`).
    """
    values = np.concatenate([group.values for group in groups])
    sizes = np.array([group.n for group in groups])
    ranks, total = rank_values(values), values.size
    ties = _count_ties(ranks)
    if ties == math.inf:
        return GroupTest("Kruskal-Wallis", "H", None, (len(groups) - 1.0,), None, (), "Kruskal-Wallis", ())
    sums = np.add.reduceat(ranks, np.concatenate([[0], np.cumsum(sizes)[:-1]]))
    between = float(np.sum((sums / sizes - (total + 1) / 2) ** 2 * sizes))
    variance = (total * (total + 1) - ties / (total - 1)) / 12
    statistic = between / variance
    df = len(groups) - 1
    warnings = []
    if np.min(sizes) < 5:
        warnings.append(
            f"the chi-squared approximation is rough with a group of {int(np.min(sizes))} observations"
        )
    effect = GroupEstimate(
        "epsilon squared",
        _bound_epsilon(ranks, sizes, statistic / (total - 1), variance, confidence),
        "share",
        confidence,
        "share of the variance of ranks between groups; interval from the covariance of the groups' "
        "mean ranks, at least at its level",
    )
    return GroupTest(
        "Kruskal-Wallis",
        "H",
        statistic,
        (float(df),),
        float(chdtrc(df, statistic)),
        (effect,),
        "Kruskal-Wallis, chi-squared approximation, corrected for ties",
        tuple(warnings),
    )


def _count_ties(ranks: FloatArray) -> float:
    """Sum of t³ − t over sets of t tied observations; infinity where all are tied."""
    counts = np.unique(ranks, return_counts=True)[1].astype(np.float64)
    return math.inf if counts.size == 1 else float(np.sum(counts**3 - counts))


def _approximate(statistic: float, m: int, n: int, ties: float) -> float:
    total = m + n
    variance = m * n / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0 or ties == math.inf:
        return 1.0
    away = max(abs(statistic - m * n / 2) - 0.5, 0.0)
    few = min(m, n)
    if few < _FEW:
        return min(1.0, 2 * _sum_uniforms(few / 2 - away / math.sqrt(12 * variance / few), few))
    return min(1.0, 2 * float(ndtr(-away / math.sqrt(variance))))


def _is_exact(m: int, n: int) -> bool:
    """Whether the exact distribution is used: of small groups, and of few observations against many.

    Ranks of few observations are no more normal for the many that they stand against.
    """
    few = min(m, n)
    return max(m, n) < EXACT_BELOW or (few < _FEW and (few * (m + n)) ** 2 <= _LARGEST_TABLE)


def _sum_uniforms(x: float, count: int) -> float:
    """Probability that `count` uniform numbers sum to at most x, for x up to count / 2 (Irwin, Hall)."""
    terms = (
        (-1) ** k * math.comb(count, k) * (x - k) ** count
        for k in range(math.floor(max(x, 0.0)) + 1)
        if x > k
    )
    return min(1.0, max(0.0, math.fsum(terms) / math.factorial(count)))


def _estimate_superiority(
    first: Group, second: Group, statistic: float, p: float | None, confidence: float
) -> GroupEstimate:
    """Probability of superiority; its interval by Brunner and Munzel on the logit scale.

    At 0 and 1, where no variance can be estimated, Newcombe's (2006) fifth method. Both hold where spreads
    differ, which p does not know of; of one half itself p decides (`_agree_with_p`).
    """
    estimate = _bound_superiority(first, second, statistic, confidence)
    if p is None:
        return estimate
    agreed = _agree_with_p(estimate.value, p, first.n * second.n, confidence)
    if agreed == estimate.value:
        return estimate
    return replace(
        estimate,
        value=agreed,
        method=f"{estimate.method}; whether one half is in it decides Mann-Whitney's p",
    )


def _agree_with_p(share: Interval, p: float, pairs: int, confidence: float) -> Interval:
    """The interval of a share of pairs, with one half outside just where the test rejects it.

    Its values are those that are not rejected: each but one half by the interval's own variance, one half,
    where both groups may be equal, by p. An end that has to go beyond one half stays half a pair away.
    """
    if share.estimate == 0.5:
        return share
    if share.estimate < 0.5:
        turned = _agree_with_p(
            Interval(1 - share.estimate, 1 - share.high, 1 - share.low), p, pairs, confidence
        )
        return Interval(share.estimate, 1 - turned.high, 1 - turned.low)
    rejected = p < (1 - confidence) * (1 - 1e-12)
    low = max(share.low, 0.5 + 0.5 / pairs) if rejected else min(share.low, 0.5)
    return Interval(share.estimate, min(low, share.estimate), share.high)


def _bound_superiority(first: Group, second: Group, statistic: float, confidence: float) -> GroupEstimate:
    m, n = first.n, second.n
    share = statistic / (m * n)
    name = "probability of superiority"
    if 0 < share < 1 and min(m, n) >= 2:
        variance, df = _vary_superiority(first.values, second.values)
        if variance > 0:
            reach = -float(stdtrit(df, (1 - confidence) / 2)) * math.sqrt(variance) / (share * (1 - share))
            middle = math.log(share / (1 - share))
            low, high = float(expit(middle - reach)), float(expit(middle + reach))
            text = "Brunner and Munzel's variance on the logit scale"
            return GroupEstimate(name, Interval(share, low, high), "share", confidence, text)
    low, high = _bound_newcombe(share, m, n, confidence)
    return GroupEstimate(name, Interval(share, low, high), "share", confidence, "Newcombe's fifth method")


def _vary_superiority(first: FloatArray, second: FloatArray) -> tuple[float, float]:
    """Variance of the share of pairs and its degrees of freedom (Brunner and Munzel 2000)."""
    m, n = first.size, second.size
    ranks = rank_values(np.concatenate([first, second]))
    of_first = (ranks[:m] - rank_values(first)) / n
    of_second = (ranks[m:] - rank_values(second)) / m
    parts = (float(np.var(of_first, ddof=1)) / m, float(np.var(of_second, ddof=1)) / n)
    total = parts[0] + parts[1]
    if total <= 0:
        return 0.0, 1.0
    return total, total**2 / (parts[0] ** 2 / (m - 1) + parts[1] ** 2 / (n - 1))


def _bound_newcombe(share: float, m: int, n: int, confidence: float) -> tuple[float, float]:
    z = -float(ndtri((1 - confidence) / 2))
    half = (m + n) / 2 - 1

    def is_inside(theta: float) -> bool:
        variance = theta * (1 - theta) * (1 + half * ((1 - theta) / (2 - theta) + theta / (1 + theta)))
        return (share - theta) ** 2 <= z * z * variance / (m * n)

    bounds = []
    for end in (0.0, 1.0):
        outside, inside = end, share
        if share == end:
            bounds.append(end)
            continue
        for _ in range(60):
            middle = (outside + inside) / 2
            outside, inside = (outside, middle) if is_inside(middle) else (middle, inside)
        bounds.append(outside)
    return bounds[0], bounds[1]


def _estimate_shifts(first: Group, second: Group, confidence: float) -> list[GroupEstimate]:
    """Hodges–Lehmann estimates of shift and ratio with the intervals that invert the test."""
    count, attained = _choose_rank(first.n, second.n, confidence)
    how = "median of all differences between pairs; interval by inverting the Mann-Whitney test"
    found = [
        GroupEstimate(
            "Hodges-Lehmann shift",
            _bound_by_rank(first.values, second.values, count),
            "response",
            attained,
            how,
        )
    ]
    below, above = first.values + first.origin, second.values + second.origin
    if min(float(np.min(below)), float(np.min(above))) > 0:
        logs = _bound_by_rank(np.log(below), np.log(above), count)
        ratio = Interval(math.exp(logs.estimate), math.exp(logs.low), math.exp(logs.high))
        text = how.replace("differences", "ratios")
        found.append(GroupEstimate("ratio", ratio, "ratio", attained, text))
    return found


def _choose_rank(m: int, n: int, confidence: float) -> tuple[int, float]:
    """Which of the ordered differences bounds the shift (from 1, from either end), and at what confidence."""
    tail = (1 - confidence) / 2
    few = min(m, n)
    spread = math.sqrt(m * n * (m + n + 1) / 12)
    if not _is_exact(m, n) and few >= _FEW:
        return max(1, math.floor(m * n / 2 + float(ndtri(tail)) * spread)), confidence
    if not _is_exact(m, n):
        # Imported late: optimisers take a sixth of a second to load, which most analyses spare.
        from scipy.optimize import brentq

        width = spread * math.sqrt(12 / few)
        place = float(brentq(lambda x: _sum_uniforms(x, few) - tail, 0.0, few / 2))
        count = max(1, math.floor((place - few / 2) * width + m * n / 2 + 0.5))
        missed = 2 * _sum_uniforms((count - 0.5 - m * n / 2) / width + few / 2, few)
        return count, confidence if missed <= 2 * tail * (1 + 1e-9) else 1 - missed
    counts = count_rank_sums(np.arange(1, m + n + 1, dtype=np.float64), few)
    lowest = few * (few + 1) // 2 * 2
    below = np.cumsum(counts[lowest::2]) / float(np.sum(counts))
    # The interval from the c-th smallest to the c-th largest misses with probability 2 P(U < c).
    count = max(1, int(np.searchsorted(below, tail, side="right")))
    missed = 2 * float(below[count - 1])
    return count, confidence if missed <= 2 * tail * (1 + 1e-9) else 1 - missed


def _bound_by_rank(first: FloatArray, second: FloatArray, count: int) -> Interval:
    pairs = first.size * second.size
    middle = ((pairs + 1) // 2, pairs // 2 + 1)
    low, left, right, high = select_differences(first, second, (count, *middle, pairs + 1 - count))
    return Interval((left + right) / 2, low, high)


def _bound_epsilon(
    ranks: FloatArray, sizes: np.ndarray, epsilon: float, variance: float, confidence: float
) -> Interval:
    """Interval of ε², a weighted sum of squares of the groups' mean ranks about the middle.

    √ε² is a norm of the mean ranks, so that it errs by at most the norm of their error; the quantile
    of that error's square is that of a scaled chi-squared with its first two moments (Box 1954). The
    covariance is that of the mean ranks' influence functions.
    """
    total = ranks.size
    starts = np.concatenate([[0], np.cumsum(sizes)])
    places = np.sort(ranks)
    lower, upper = (np.searchsorted(places, ranks, side=side) for side in ("left", "right"))
    pooled = (lower + upper) / (2 * total)
    covariance = np.zeros((sizes.size, sizes.size))
    heights = []
    for index in range(sizes.size):
        own = np.sort(ranks[starts[index] : starts[index + 1]])
        reached = [np.searchsorted(own, ranks, side=side) for side in ("left", "right")]
        heights.append((reached[0] + reached[1]) / (2 * own.size))
    for index in range(sizes.size):
        part = slice(starts[index], starts[index + 1])
        influence = np.stack([(1 - height[part]) / total for height in heights])
        influence[index] += pooled[part] / sizes[index]
        if sizes[index] > 1:
            covariance += sizes[index] * np.atleast_2d(np.cov(influence))
    # ε² = Σ w (mean rank − middle)² with mean ranks in units of the number of observations.
    weights = sizes * total**2 / (variance * (total - 1))
    root = np.sqrt(weights)
    spread = root[:, None] * covariance * root[None, :]
    trace, squares = float(np.trace(spread)), float(np.sum(spread**2))
    if trace <= 0:
        return Interval(epsilon, epsilon, epsilon)
    scale, df = squares / trace, trace**2 / squares
    reach = math.sqrt(scale * float(chdtri(df, 1 - confidence)))
    middle = math.sqrt(epsilon)
    return Interval(epsilon, max(0.0, middle - reach) ** 2, min(1.0, (middle + reach) ** 2))
