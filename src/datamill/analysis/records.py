"""Estimates, as frozen records: value, interval, n, method, warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from datamill.analysis.cells import Factor, FloatArray
from datamill.analysis.coding import Term


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence interval, in the response's unit unless said otherwise."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient of the model, with its interval and standard error."""

    name: str
    term: str
    value: Interval
    standard_error: float


@dataclass(frozen=True, slots=True)
class LevelEffect:
    """Deviation of a combination of levels from the grand mean that a term is answerable for."""

    levels: tuple[str, ...]
    value: Interval


@dataclass(frozen=True, slots=True)
class TermRow:
    """A term's row of the analysis of variance.

    `f` and `p` are None where the error mean square is zero, so that no test exists.
    `effects` has every level of a main effect; interactions have none here.
    """

    term: Term
    sum_sq: float
    mean_sq: float
    f: float | None
    p: float | None
    effects: tuple[LevelEffect, ...]


@dataclass(frozen=True, slots=True)
class LackOfFit:
    """What the model leaves unexplained between cells, against the error within them."""

    sum_sq: float
    df: int
    f: float | None
    p: float | None


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """A factorial model fitted by least squares (thesis 2015, equations 1.1 to 1.4).

    `mean` is the grand mean, every design point with the same weight. `not_estimable` names the
    terms that were left out because cells without data hide them. `pure_error_df` counts the
    degrees of freedom within cells. The arrays serve further inference: `fitted` (K cell means as
    deviations from the cells' origin), `leverage` (K, of one observation), and `weights` (p × K):
    the coefficients, intercept first, as weighted sums of the cell means.
    """

    factors: tuple[Factor, ...]
    n: int
    cells: int
    order: int
    mean: Interval
    coefficients: tuple[Coefficient, ...]
    terms: tuple[TermRow, ...]
    error_ss: float
    error_df: int
    error_ms: float
    total_ss: float
    r_squared: float
    lack_of_fit: LackOfFit | None
    pure_error_df: int
    balanced: bool
    not_estimable: tuple[str, ...]
    confidence: float
    alpha: float
    method: str
    warnings: tuple[str, ...]
    fitted: FloatArray
    leverage: FloatArray
    weights: FloatArray


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two means with its confidence set by Fieller's theorem.

    `low` and `high` bound the set; both are None when it is unbounded, which `note` puts in words.
    """

    estimate: float
    low: float | None
    high: float | None
    note: str


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


@dataclass(frozen=True, slots=True)
class TermInfluence:
    """How much one term matters.

    `share` is its part of the total sum of squares, `partial` its sum of squares over itself plus
    error, `p` adjusted by Holm over all terms and None where nothing varies. `largest` is the
    largest deviation from the grand mean at `levels` that the term by itself is answerable for, and
    `largest_percent` the same in percent of that mean (None when the mean may be zero).
    """

    term: Term
    share: float
    partial: float
    p: float | None
    detected: bool
    levels: tuple[str, ...]
    largest: Interval
    largest_percent: Interval | None


@dataclass(frozen=True, slots=True)
class Influence:
    """The terms of a model, the most influential first."""

    terms: tuple[TermInfluence, ...]
    n: int
    confidence: float
    alpha: float
    method: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of an assumption: what was tested how, and the p-value against it.

    `statistic` is None where it is beyond all numbers.
    """

    assumption: str
    method: str
    statistic: float | None
    p: float


@dataclass(frozen=True, slots=True)
class AssumptionChecks:
    """First checks of the model's assumptions; a violated one is a warning in words."""

    checks: tuple[CheckResult, ...]
    n: int
    alpha: float
    method: str
    warnings: tuple[str, ...]
