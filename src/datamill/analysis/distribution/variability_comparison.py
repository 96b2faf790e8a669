"""Whether the levels of a factor differ in variability: coefficients of variation compared by ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.analysis.distribution.variability import Variability
from datamill.analysis.groups.multiplicity import Adjustment, adjust_p_values
from datamill.analysis.groups.rank_tests import compare_kruskal_wallis, compare_mann_whitney
from datamill.analysis.groups.records import Group, GroupTest, PairTest


@dataclass(frozen=True, slots=True)
class FactorVariability:
    """Coefficients of variation compared between the levels of one factor.

    `medians` has each level with the number of its design points and the median of their coefficients.
    `overall` is Kruskal and Wallis's test; its p, adjusted for the number of factors, is
    `adjusted_p`. `pairs` has the levels against each other with the ratio of their coefficients.
    """

    factor: str
    medians: tuple[tuple[str, int, float], ...]
    overall: GroupTest
    adjusted_p: float | None
    pairs: tuple[PairTest, ...]


def compare_variability(
    variability: Variability, adjustment: Adjustment = "holm"
) -> tuple[FactorVariability, ...]:
    """Compare the coefficients of variation of design points between the levels of each factor.

    Kruskal–Wallis, as in thesis 2015, section 5.1.1; each design point is one observation, so that the
    levels of the other factors are part of the noise. Factors of which fewer than two levels have
    two coefficients are left out.
    """
    found = []
    for index, factor in enumerate(variability.factors):
        levels = list(dict.fromkeys(point.levels[index] for point in variability.points))
        groups = []
        for level in levels:
            values = [
                point.cv.estimate
                for point in variability.points
                if point.levels[index] == level and point.cv is not None
            ]
            if len(values) >= 2:
                groups.append(Group(level, np.array(values)))
        if len(groups) >= 2:
            found.append((factor, tuple(groups)))
    tests = [compare_kruskal_wallis(groups, variability.confidence) for _, groups in found]
    adjusted = adjust_p_values([test.p for test in tests], adjustment)
    return tuple(
        FactorVariability(
            factor=factor,
            medians=tuple((group.label, group.n, float(np.median(group.values))) for group in groups),
            overall=test,
            adjusted_p=p,
            pairs=_compare_pairs(groups, variability.confidence, adjustment),
        )
        for (factor, groups), test, p in zip(found, tests, adjusted, strict=True)
    )


def _compare_pairs(
    groups: tuple[Group, ...], confidence: float, adjustment: Adjustment
) -> tuple[PairTest, ...]:
    pairs = [(first, second) for index, first in enumerate(groups) for second in groups[index + 1 :]]
    level = 1 - (1 - confidence) / len(pairs) if adjustment == "holm" else confidence
    tests = [compare_mann_whitney(first, second, level) for first, second in pairs]
    adjusted = adjust_p_values([test.p for test in tests], adjustment)
    return tuple(
        PairTest(first.label, second.label, first.n, second.n, test, p)
        for (first, second), test, p in zip(pairs, tests, adjusted, strict=True)
    )
