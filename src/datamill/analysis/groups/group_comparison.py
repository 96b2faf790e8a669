"""Comparisons of groups, as frozen records: the groups, each test with its estimates, the whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray

#: What an estimate is measured in: the response's unit, a ratio, or a share of pairs.
Measure = Literal["response", "ratio", "share"]
#: What the caller knows of the observations, and what about them is compared.
Assumption = Literal["nothing", "exchangeable", "normal", "normal-equal-variances"]
Aspect = Literal["location", "spread"]


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """A group's label and its observations (n), as deviations from `origin`: an offset costs no digits."""

    label: str
    values: FloatArray
    origin: float = 0.0

    @property
    def n(self) -> int:
        """Number of observations."""
        return int(self.values.size)

    @property
    def median(self) -> float:
        """The middle observation, of an even number the mean of the middle two."""
        return float(np.median(self.values)) + self.origin


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """The groups at one combination of levels of the other factors: pairs of factor and level, maybe none."""

    levels: tuple[tuple[str, str], ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class GroupEstimate:
    """An estimate with its interval, which holds at level `confidence`, and how both were found.

    Differences are second minus first, ratios second over first, shares those of pairs of which the
    second is the larger.
    """

    name: str
    value: Interval
    measure: Measure
    confidence: float
    method: str


@dataclass(frozen=True, slots=True)
class GroupTest:
    """One test of groups against each other.

    `p` is None where nothing varies, so that there is no test; `warnings` are clauses that limit
    what it says. The first of `estimates` leads.
    """

    name: str
    statistic_name: str
    statistic: float | None
    df: tuple[float, ...]
    p: float | None
    estimates: tuple[GroupEstimate, ...]
    method: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PairTest:
    """The second of two groups against the first; `adjusted_p` accounts for the number of comparisons."""

    first: str
    second: str
    n_first: int
    n_second: int
    test: GroupTest
    adjusted_p: float | None


@dataclass(frozen=True, slots=True)
class StratumResult:
    """What was found at one combination of levels of the other factors.

    `counts` has the observations of each group. `overall` compares three groups or more at once, and
    `overall_adjusted_p` is its p adjusted over the strata; both None for two groups.
    """

    levels: tuple[tuple[str, str], ...]
    counts: tuple[tuple[str, int], ...]
    overall: GroupTest | None
    overall_adjusted_p: float | None
    pairs: tuple[PairTest, ...]


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """Groups compared, as the caller's assumption allows.

    `why` says why these tests were chosen; `combined` is the pair over all strata at once, where
    there are two groups and several strata. A result counts as detected where its adjusted p is
    below `alpha`, which is 1 − `confidence`.
    """

    factor: str
    question: Aspect
    assumption: Assumption
    adjustment: str
    n: int
    combined: PairTest | None
    strata: tuple[StratumResult, ...]
    confidence: float
    alpha: float
    seed: int
    why: str
    method: str
    warnings: tuple[str, ...]

    def detects(self, pair: PairTest) -> bool:
        """Whether the groups of a pair were found to differ."""
        return pair.adjusted_p is not None and pair.adjusted_p < self.alpha
