"""Packages compared at the levels of other factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from datamill.analysis.interval import Interval, Ratio


@dataclass(frozen=True, slots=True)
class PackageMean:
    """A package's mean over the design points, each with the same weight."""

    package: str
    n: int
    value: Interval
    df: float


@dataclass(frozen=True, slots=True)
class PairComparison:
    """A package against another, the baseline.

    `difference` and `ratio` are package minus, and over, baseline. `p` is None where nothing
    varies, so that neither test nor interval exists; it is adjusted for the number of comparisons,
    as the intervals are. `verdict` is about the package: "better", "worse", "uncertain", or "as
    measured" without a test. Of the `cells` combinations of the other factors the package's mean
    is the higher one in `higher_cells` and the lower in `lower_cells`.
    """

    package: str
    baseline: str
    difference: Interval
    df: float
    ratio: Ratio | None
    p: float | None
    verdict: Literal["better", "worse", "uncertain", "as measured"]
    cells: int
    higher_cells: int
    lower_cells: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Packages compared on one response.

    `pairs` has every package against the baseline. With three packages or more `best` has the one
    with the best mean against every other, runner-up first, adjusted for all pairs there are, since
    it was chosen by its mean.
    """

    means: tuple[PackageMean, ...]
    pairs: tuple[PairComparison, ...]
    best: tuple[PairComparison, ...]
    n: int
    confidence: float
    alpha: float
    method: str
    warnings: tuple[str, ...]
