"""Groups compared: from what the caller assumes to the tests, over strata and pairs, and why these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamill.analysis.contrasts.multiplicity import Adjustment, adjust_p_values
from datamill.analysis.groups.assumption_doubts import doubt_assumption
from datamill.analysis.groups.group_comparison import (
    Aspect,
    Assumption,
    Group,
    GroupComparison,
    GroupTest,
    PairTest,
    Stratum,
    StratumResult,
)
from datamill.analysis.groups.means.mean_tests import (
    compare_games_howell,
    compare_one_way,
    compare_student,
    compare_tukey_kramer,
    compare_welch,
    compare_welch_anova,
)
from datamill.analysis.groups.means.stratified_means import compare_mean_over_strata
from datamill.analysis.groups.means.variance_tests import compare_brown_forsythe, compare_variances
from datamill.analysis.groups.permutation import permute_groups, permute_two_groups
from datamill.analysis.groups.ranks.rank_tests import compare_kruskal_wallis, compare_mann_whitney
from datamill.analysis.groups.ranks.stratified_ranks import compare_van_elteren
from datamill.analysis.groups.splitting import name_levels
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument

#: Why an assumption and an aspect lead to their tests.
_REASONS = {
    ("nothing", "location"): "nothing is assumed of the distributions, so that ranks are compared",
    ("exchangeable", "location"): "without an effect the labels could be exchanged, so that they are",
    ("normal", "location"): "observations are assumed normal, their variances not equal",
    (
        "normal-equal-variances",
        "location",
    ): "observations are assumed normal with one variance for all groups",
    ("nothing", "spread"): "nothing is assumed of the distributions, so that deviations from medians are "
    "compared",
    ("normal", "spread"): "observations are assumed normal, so that variances can be compared directly",
}


@dataclass(frozen=True, slots=True)
class _Choice:
    """What was asked: the assumption, the aspect, and what all tests need."""

    assumption: Assumption
    aspect: Aspect
    adjustment: Adjustment
    seed: int

    @property
    def joint(self) -> bool:
        """Whether one procedure judges all pairs of a stratum together."""
        return (
            self.aspect == "location"
            and self.adjustment == "holm"
            and self.assumption in ("normal", "normal-equal-variances")
        )


def compare_groups(
    strata: Sequence[Stratum],
    factor: str,
    *,
    assumption: Assumption = "nothing",
    aspect: Aspect = "location",
    adjustment: Adjustment = "holm",
    confidence: float = 0.95,
    seed: int = 1,
) -> GroupComparison:
    """Compare the groups within each stratum by the tests that the assumption allows.

    With Holm's adjustment intervals hold together for all pairs and strata; else each for itself. Two
    groups in several strata are also compared over all strata at once.

    Raises:
        InputError: assumption and aspect do not go together, nothing varies, or no stratum can be
            compared.
    """
    choice = _Choice(assumption, aspect, adjustment, seed)
    if (assumption, aspect) not in _REASONS:
        raise InputError(
            f"spreads cannot be compared under the assumption {assumption}",
            remedy=f"Choose {argument('assume', 'nothing')} or normal.",
        )
    usable, warnings = _choose_strata(strata, choice)
    if not any(np.ptp(group.values) or np.any(group.values) for item in usable for group in item.groups):
        raise InputError(
            "the response is constant: there is nothing to compare",
            remedy="Check that the column is the right one.",
        )
    count = sum(len(item.groups) * (len(item.groups) - 1) // 2 for item in usable)
    results = _compare_strata(usable, choice, confidence, count)
    labels = {tuple(group.label for group in item.groups) for item in usable}
    combined = None
    if (
        aspect == "location"
        and len(usable) > 1
        and all(len(pair) == 2 for pair in labels)
        and len(labels) == 1
    ):
        combined = _combine(usable, choice, confidence)
    warnings += doubt_assumption(usable, assumption, aspect)
    return GroupComparison(
        factor=factor,
        question=aspect,
        assumption=assumption,
        adjustment=adjustment,
        n=sum(group.n for item in usable for group in item.groups),
        combined=combined,
        strata=tuple(results),
        confidence=confidence,
        alpha=1 - confidence,
        seed=seed,
        why=_REASONS[assumption, aspect],
        method=_describe_method(results, combined, choice, count),
        warnings=tuple(warnings),
    )


def _choose_strata(strata: Sequence[Stratum], choice: _Choice) -> tuple[list[Stratum], list[str]]:
    """Strata with two groups or more that are large enough, and what had to be left out."""
    fewest = 1 if choice.assumption in ("nothing", "exchangeable") and choice.aspect == "location" else 2
    usable, warnings = [], []
    labels = list(dict.fromkeys(group.label for item in strata for group in item.groups))
    for item in strata:
        place = f" at {name_levels(item.levels)}" if item.levels else ""
        large = tuple(group for group in item.groups if group.n >= fewest)
        small = [group.label for group in item.groups if group.n < fewest]
        missing = [label for label in labels if label not in {group.label for group in item.groups}]
        if missing:
            warnings.append(f"no data of {', '.join(missing)}{place}")
        if small:
            warnings.append(
                f"{', '.join(small)} has one observation only{place}, and so no variance: not compared"
            )
        if len(large) >= 2:
            usable.append(Stratum(item.levels, large))
    if not usable:
        raise InputError(
            "no two groups can be compared: " + "; ".join(warnings or ["there is one group only"]),
            remedy=f"Add observations, leave out factors, or compare with {argument('assume', 'nothing')}.",
        )
    return usable, warnings


def _compare_strata(
    strata: Sequence[Stratum], choice: _Choice, confidence: float, count: int
) -> list[StratumResult]:
    overall = [_compare_all(item.groups, choice, confidence) for item in strata]
    tests = [_compare_pairs(item.groups, choice, confidence, count, len(strata)) for item in strata]
    overall_p = adjust_p_values([None if test is None else test.p for test in overall], choice.adjustment)
    flat = [test.p for pairs in tests for test in pairs.values()]
    if choice.joint and count > len(strata):
        # Each stratum's pairs are already judged together: strata remain.
        adjusted = tuple(None if p is None else min(1.0, p * len(strata)) for p in flat)
    else:
        adjusted = adjust_p_values(flat, choice.adjustment)
    results, start = [], 0
    for item, whole, whole_p, pairs in zip(strata, overall, overall_p, tests, strict=True):
        found = []
        for (i, j), test in pairs.items():
            first, second = item.groups[i], item.groups[j]
            found.append(PairTest(first.label, second.label, first.n, second.n, test, adjusted[start]))
            start += 1
        counts = tuple((group.label, group.n) for group in item.groups)
        results.append(StratumResult(item.levels, counts, whole, whole_p, tuple(found)))
    return results


def _compare_all(groups: tuple[Group, ...], choice: _Choice, confidence: float) -> GroupTest | None:
    if len(groups) < 3:
        return None
    if choice.aspect == "spread":
        return compare_brown_forsythe(groups, confidence)
    if choice.assumption == "nothing":
        return compare_kruskal_wallis(groups, confidence)
    if choice.assumption == "exchangeable":
        return permute_groups(groups, choice.seed)
    return compare_welch_anova(groups) if choice.assumption == "normal" else compare_one_way(groups)


def _compare_pairs(
    groups: tuple[Group, ...], choice: _Choice, confidence: float, count: int, strata: int
) -> dict[tuple[int, int], GroupTest]:
    together = choice.adjustment == "holm"
    if choice.joint and len(groups) > 2:
        level = 1 - (1 - confidence) / strata
        compare = compare_games_howell if choice.assumption == "normal" else compare_tukey_kramer
        return compare(groups, level)
    # Where one procedure judges the pairs of other strata, p is adjusted for the number of strata alone.
    shared = strata if choice.joint and count > strata else count
    level = 1 - (1 - confidence) / shared if together else confidence
    return {
        (i, j): _compare_pair(groups[i], groups[j], choice, level)
        for i in range(len(groups))
        for j in range(i + 1, len(groups))
    }


def _compare_pair(first: Group, second: Group, choice: _Choice, confidence: float) -> GroupTest:
    if choice.aspect == "spread":
        if choice.assumption == "normal":
            return compare_variances(first, second, confidence)
        return compare_brown_forsythe((first, second), confidence)
    if choice.assumption == "nothing":
        return compare_mann_whitney(first, second, confidence)
    if choice.assumption == "exchangeable":
        return permute_two_groups([(first, second)], confidence, choice.seed)
    return (compare_welch if choice.assumption == "normal" else compare_student)(first, second, confidence)


def _combine(strata: Sequence[Stratum], choice: _Choice, confidence: float) -> PairTest:
    pairs = [(item.groups[0], item.groups[1]) for item in strata]
    if choice.assumption == "nothing":
        test = compare_van_elteren(pairs, confidence)
    elif choice.assumption == "exchangeable":
        test = permute_two_groups(pairs, confidence, choice.seed)
    else:
        test = compare_mean_over_strata(pairs, confidence, equal_variances=choice.assumption != "normal")
    sizes = [sum(pair[index].n for pair in pairs) for index in (0, 1)]
    return PairTest(pairs[0][0].label, pairs[0][1].label, sizes[0], sizes[1], test, test.p)


def _describe_method(
    results: Sequence[StratumResult], combined: PairTest | None, choice: _Choice, count: int
) -> str:
    names = []
    if combined is not None:
        names.append(f"over all strata {combined.test.method}")
    first = results[0]
    if first.overall is not None:
        names.append(f"all groups at once by {first.overall.method}")
    methods = dict.fromkeys(pair.test.method for item in results for pair in item.pairs)
    names.append(("pairs by " if first.overall is not None else "") + "; ".join(methods))
    if count > 1:
        adjusted = {
            "holm": f"p adjusted for {count} comparisons (Holm); intervals hold together (Bonferroni), "
            "which makes them a little wider than Holm's p needs",
            "bh": f"p adjusted for {count} comparisons (Benjamini-Hochberg), each interval for itself",
            "none": f"{count} comparisons, neither p nor intervals adjusted for their number",
        }[choice.adjustment]
        if choice.joint and count > len(results):
            adjusted = "p and intervals hold together for all pairs"
            if len(results) > 1:
                adjusted += f" and {len(results)} strata (Bonferroni over strata)"
        names.append(adjusted)
    return "; ".join(names)
