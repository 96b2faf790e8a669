"""Tests of means that assume normal observations: Welch, Student, and one-way analyses of variance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc, stdtr, stdtrit

from datamill.analysis.contrasts.fieller import bound_ratio
from datamill.analysis.contrasts.satterthwaite import combine_freedom
from datamill.analysis.groups.group_comparison import Group, GroupEstimate, GroupTest
from datamill.analysis.groups.means.studentized_range import find_range_quantile, find_range_tail
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument

#: Said where two groups do not vary at all.
STILL = (
    "observations within each group do not differ at all, so that there is no test and no interval; true of "
    "a deterministic response, suspicious otherwise"
)


@dataclass(frozen=True, slots=True, eq=False)
class GroupMoments:
    """Sizes, means (as deviations from the origin) and variances of k groups (k each)."""

    sizes: FloatArray
    means: FloatArray
    variances: FloatArray
    origin: float


def gather_group_moments(groups: tuple[Group, ...]) -> GroupMoments:
    """Moments of groups that have two observations or more each.

    Raises:
        InputError: a group has fewer than two observations, so that it has no variance.
    """
    for group in groups:
        if group.n < 2:
            raise InputError(
                f'group "{group.label}" has {group.n} observation{"s"[: group.n != 1]}, and so no variance',
                remedy=f"Add observations, or compare with {argument('assume', 'nothing')}.",
            )
    means, variances = [], []
    for group in groups:
        mean = float(np.mean(group.values))
        mean += float(np.mean(group.values - mean))
        means.append(mean)
        squares = float(np.sum((group.values - mean) ** 2))
        largest = max(abs(group.origin), float(np.max(np.abs(group.values + group.origin))))
        # Spread that rounding alone explains is no spread.
        noise = group.n * (4 * np.finfo(np.float64).eps * largest) ** 2
        variances.append(0.0 if squares <= noise else squares / (group.n - 1))
    sizes = np.array([float(group.n) for group in groups])
    return GroupMoments(sizes, np.array(means), np.array(variances), groups[0].origin)


def compare_welch(first: Group, second: Group, confidence: float) -> GroupTest:
    """Difference and ratio of two means without equal variances (Welch 1947)."""
    moments = gather_group_moments((first, second))
    parts = moments.variances / moments.sizes
    df = _find_df(parts, moments.sizes)
    return _compare_means(moments, (float(parts[0]), float(parts[1])), df, confidence, "Welch's t")


def _find_df(parts: FloatArray, sizes: FloatArray) -> float:
    """Satterthwaite's degrees of freedom of a sum of variances; NaN where nothing varies."""
    return combine_freedom(parts, sizes - 1) if np.any(parts > 0) else math.nan


def compare_student(first: Group, second: Group, confidence: float) -> GroupTest:
    """Difference of two means with one variance for both (Student's t)."""
    moments = gather_group_moments((first, second))
    df = float(np.sum(moments.sizes) - 2)
    pooled = float(np.sum(moments.variances * (moments.sizes - 1))) / df
    parts = pooled / moments.sizes
    return _compare_means(moments, (float(parts[0]), float(parts[1])), df, confidence, "Student's t")


def _compare_means(
    moments: GroupMoments, parts: tuple[float, float], df: float, confidence: float, name: str
) -> GroupTest:
    difference = float(moments.means[1] - moments.means[0])
    error = math.sqrt(parts[0] + parts[1])
    if error == 0:
        return GroupTest(name, "t", None, (), None, (), name, (STILL,))
    critical = -float(stdtrit(df, (1 - confidence) / 2))
    estimates = [
        GroupEstimate(
            "difference of means",
            Interval(difference, difference - critical * error, difference + critical * error),
            "response",
            confidence,
            name,
        )
    ]
    ratio = bound_ratio(
        moments.origin + float(moments.means[1]),
        moments.origin + float(moments.means[0]),
        numerator_variance=parts[1],
        denominator_variance=parts[0],
        critical=critical,
    )
    if moments.origin + moments.means[0] > 0 and ratio is not None and ratio.low is not None:
        assert ratio.high is not None
        interval = Interval(ratio.estimate, ratio.low, ratio.high)
        estimates.append(GroupEstimate("ratio of means", interval, "ratio", confidence, "Fieller's theorem"))
    p = min(1.0, 2 * float(stdtr(df, -abs(difference) / error)))
    return GroupTest(name, "t", difference / error, (df,), p, tuple(estimates), f"{name} test")


def compare_welch_anova(groups: tuple[Group, ...]) -> GroupTest:
    """Whether several means are equal, without equal variances (Welch 1951)."""
    moments = gather_group_moments(groups)
    if np.any(moments.variances == 0):
        reason = "a group does not vary at all, so that Welch's analysis of variance does not exist"
        return GroupTest("Welch's F", "F", None, (), None, (), "Welch's analysis of variance", (reason,))
    weights = moments.sizes / moments.variances
    shares = weights / np.sum(weights)
    k = len(groups)
    middle = float(np.sum(shares * moments.means))
    between = float(np.sum(weights * (moments.means - middle) ** 2)) / (k - 1)
    lost = float(np.sum((1 - shares) ** 2 / (moments.sizes - 1)))
    statistic = between / (1 + 2 * (k - 2) / (k * k - 1) * lost)
    df = (k - 1.0, (k * k - 1) / (3 * lost))
    p = float(fdtrc(*df, statistic))
    return GroupTest("Welch's F", "F", statistic, df, p, (), "Welch's analysis of variance")


def compare_one_way(groups: tuple[Group, ...]) -> GroupTest:
    """Whether several means are equal, with one variance for all: the classical analysis of variance."""
    moments = gather_group_moments(groups)
    df = (len(groups) - 1.0, float(np.sum(moments.sizes)) - len(groups))
    within = float(np.sum(moments.variances * (moments.sizes - 1))) / df[1]
    middle = float(np.sum(moments.sizes * moments.means) / np.sum(moments.sizes))
    between = float(np.sum(moments.sizes * (moments.means - middle) ** 2)) / df[0]
    if within == 0:
        return GroupTest("one-way F", "F", None, df, None, (), "analysis of variance", (STILL,))
    p = float(fdtrc(*df, between / within))
    return GroupTest("one-way F", "F", between / within, df, p, (), "one-way analysis of variance")


def compare_games_howell(groups: tuple[Group, ...], confidence: float) -> dict[tuple[int, int], GroupTest]:
    """All pairs of means, without equal variances (Games and Howell 1976).

    P-values and intervals hold together for all pairs, by the studentized range.
    """
    moments = gather_group_moments(groups)
    parts = moments.variances / moments.sizes
    results = {}
    for i, j in _list_pairs(len(groups)):
        df = _find_df(parts[[i, j]], moments.sizes[[i, j]])
        variance = float(parts[i] + parts[j])
        results[i, j] = _compare_range(moments, (i, j), variance, df, confidence, "Games-Howell")
    return results


def compare_tukey_kramer(groups: tuple[Group, ...], confidence: float) -> dict[tuple[int, int], GroupTest]:
    """All pairs of means, with one variance for all groups (Tukey 1953, Kramer 1956); as Games–Howell."""
    moments = gather_group_moments(groups)
    df = float(np.sum(moments.sizes)) - len(groups)
    within = float(np.sum(moments.variances * (moments.sizes - 1))) / df
    results = {}
    for i, j in _list_pairs(len(groups)):
        variance = within * float(1 / moments.sizes[i] + 1 / moments.sizes[j])
        results[i, j] = _compare_range(moments, (i, j), variance, df, confidence, "Tukey-Kramer")
    return results


def _list_pairs(count: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(count) for j in range(i + 1, count)]


def _compare_range(
    moments: GroupMoments, pair: tuple[int, int], variance: float, df: float, confidence: float, name: str
) -> GroupTest:
    """A pair by the studentized range, whose unit is √(variance / 2)."""
    difference = float(moments.means[pair[1]] - moments.means[pair[0]])
    if variance == 0:
        return GroupTest(name, "q", None, (), None, (), name, (STILL,))
    error, count = math.sqrt(variance / 2), moments.sizes.size
    reach = find_range_quantile(1 - confidence, count, df) * error
    interval = Interval(difference, difference - reach, difference + reach)
    estimate = GroupEstimate(
        "difference of means", interval, "response", confidence, f"{name}, for all pairs"
    )
    q = abs(difference) / error
    p = find_range_tail(q, count, df)
    return GroupTest(name, "q", q, (df,), p, (estimate,), f"{name}, studentized range for all pairs together")
