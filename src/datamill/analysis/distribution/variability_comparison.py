"""Whether the levels of a factor differ in variability: coefficients of variation compared by ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datamill.analysis.contrasts.multiplicity import Adjustment, adjust_p_values
from datamill.analysis.distribution.variability import PointVariabilities
from datamill.analysis.groups.group_comparison import Group, GroupTest, PairTest
from datamill.analysis.groups.ranks.rank_tests import compare_kruskal_wallis, compare_mann_whitney


@dataclass(frozen=True, slots=True)
class FactorVariability:
    """Coefficients of variation compared between the levels of one factor.

    `medians` has each level with the number of its design points and the median of their coefficients.
    `overall` is Kruskal and Wallis's test. `pairs` has the levels against each other with the ratio of their
    coefficients. `adjusted_p` is the p of the test that decides, adjusted for the number of factors;
    `detected` where that is below one minus the confidence.
    """

    factor: str
    medians: tuple[tuple[str, int, float], ...]
    overall: GroupTest
    adjusted_p: float | None
    detected: bool
    pairs: tuple[PairTest, ...]

    @property
    def deciding(self) -> GroupTest:
        """Of two levels Mann and Whitney's test, which gives the interval of the ratio; else `overall`.

        So what is detected and the interval shown with it come from one method, exact for few points.
        """
        return self.pairs[0].test if len(self.pairs) == 1 else self.overall


def compare_variability(
    variability: PointVariabilities, adjustment: Adjustment = "holm"
) -> tuple[FactorVariability, ...]:
    """Compare the coefficients of variation of design points between the levels of each factor.

    By Kruskal–Wallis, as in thesis 2015, section 5.1.1; of two levels Mann–Whitney decides, the same but
    exact. Each design point is one observation, so that the levels of the other factors are part of the
    noise. Factors of which fewer than two levels have two coefficients are left out.
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
    compared = [
        FactorVariability(
            factor=factor,
            medians=tuple((group.label, group.n, float(np.median(group.values))) for group in groups),
            overall=compare_kruskal_wallis(groups, variability.confidence),
            adjusted_p=None,
            detected=False,
            pairs=_compare_pairs(groups, variability.confidence, adjustment, len(found)),
        )
        for factor, groups in found
    ]
    adjusted = adjust_p_values([item.deciding.p for item in compared], adjustment)
    alpha = 1 - variability.confidence
    return tuple(
        replace(item, adjusted_p=p, detected=p is not None and p < alpha)
        for item, p in zip(compared, adjusted, strict=True)
    )


def _compare_pairs(
    groups: tuple[Group, ...], confidence: float, adjustment: Adjustment, factors: int
) -> tuple[PairTest, ...]:
    pairs = [(first, second) for index, first in enumerate(groups) for second in groups[index + 1 :]]
    # Of two levels the factor's p counts, which is adjusted over factors; of more that of each pair.
    count = factors if len(pairs) == 1 else len(pairs)
    level = 1 - (1 - confidence) / count if adjustment == "holm" else confidence
    tests = [compare_mann_whitney(first, second, level) for first, second in pairs]
    adjusted = adjust_p_values([test.p for test in tests], adjustment)
    return tuple(
        PairTest(first.label, second.label, first.n, second.n, test, p)
        for (first, second), test, p in zip(pairs, tests, adjusted, strict=True)
    )
