"""Estimates, as frozen records: value, interval, n, method, warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from datamill.analysis.model_data.cells import Factor, FloatArray
from datamill.analysis.model_data.coding import Term

#: How the sum of squares of a term is defined where terms overlap.
SquaresType = Literal["I", "II", "III"]


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
class LevelGap:
    """The largest difference between two levels of a factor in a model: `high` minus `low`.

    Its interval allows for the choice among all pairs (Bonferroni).
    """

    low: str
    high: str
    value: Interval


@dataclass(frozen=True, slots=True)
class TermRow:
    """A term's row of the analysis of variance.

    `f` and `p` are None where the error mean square is zero, so that no test exists. `p_holm` is p
    adjusted by Holm over the terms of interest, None for a block. `effects` has every level of a
    main effect, and `gap` its largest difference between two; interactions have none here. `means` are
    the model's own (adjusted) means at these levels: covariates at their means, combinations of the other
    factors with the same weight.
    """

    term: Term
    sum_sq: float
    mean_sq: float
    f: float | None
    p: float | None
    effects: tuple[LevelEffect, ...]
    p_holm: float | None = None
    block: bool = False
    gap: LevelGap | None = None
    means: tuple[LevelEffect, ...] = ()


@dataclass(frozen=True, slots=True)
class EffectShare:
    """An effect as share of the grand mean, in percent, with one standard error (thesis 2015, Figure 5.1).

    `levels` says of which levels of the term's factors, and is empty where one coefficient tells
    all: then the effect is half the change from the low to the high level, or a covariate's slope.
    """

    term: str
    levels: tuple[str, ...]
    percent: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class BlockGain:
    """What blocks gained: their sum of squares, adjusted for all else, and the error with and without them.

    `efficiency` is the error mean square without blocks over that with them: how many times as many
    trials the same precision would take without. None where there is no error.
    """

    blocks: tuple[str, ...]
    sum_sq: float
    df: int
    f: float | None
    p: float | None
    error_ms_without: float
    efficiency: float | None


@dataclass(frozen=True, slots=True)
class LackOfFit:
    """What the model leaves unexplained between cells, against the error within them."""

    sum_sq: float
    df: int
    f: float | None
    p: float | None


@dataclass(frozen=True, slots=True)
class CovariateMean:
    """A covariate and its mean over the observations, where the model puts its zero."""

    name: str
    mean: float


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """A factorial model fitted by least squares (thesis 2015, equations 1.1 to 1.4).

    `mean` is the grand mean, every design point with the same weight, at the means of the covariates:
    these are centred there, so that no effect depends on where they count from. `squares` is the
    type of the sums of squares. `not_estimable` names the terms that were left out because the data
    cannot tell them from others. `pure_error_df` counts the degrees of freedom within cells (about
    each cell's own plane in the covariates). The arrays serve further inference: `fitted`, as
    deviations from the cells' origin, and `leverage`, of one observation, are by cell (K), or with
    `by_row`, where covariates make rows of a cell differ, by observation (n); `weights` (p × K,
    without covariates) are the coefficients, intercept first, as weighted sums of the cell means.
    `transform` is that of the response, such as "log"; then `shares` is empty.
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
    squares: SquaresType = "III"
    covariates: tuple[CovariateMean, ...] = ()
    shares: tuple[EffectShare, ...] = ()
    block_gain: BlockGain | None = None
    by_row: bool = False
    transform: str = ""

    @property
    def effects_of_interest(self) -> tuple[TermRow, ...]:
        """The rows of all terms that are no blocks."""
        return tuple(row for row in self.terms if not row.block)


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
    """The terms of a model, the most influential first; `warnings` say where the search is weak."""

    terms: tuple[TermInfluence, ...]
    n: int
    confidence: float
    alpha: float
    method: str
    warnings: tuple[str, ...] = ()


#: Which result answers the question.
Trust = Literal["means", "both", "quantiles", "neither"]
#: How an assumption fares: "harmless" departs, but not so far that it matters for means.
CheckState = Literal["held", "harmless", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of an assumption: what was tested how, and the p-value against it.

    `statistic` is None where it is beyond all numbers. With many observations every departure has a
    small p, so that `state` weighs its `size` as well, which is in terms of `measure` (such as
    "ratio of standard deviations"). `words` say what was found, `advice` what to do about it (empty
    where nothing is to be done).
    """

    assumption: str
    method: str
    statistic: float | None
    p: float
    state: CheckState = "held"
    size: float | None = None
    measure: str = ""
    words: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True)
class ErrorShape:
    """The shape of the residuals, of all observations.

    `skewness` is 0 and `excess_kurtosis` 0 for normal ones. `largest_share` is the part of the
    error sum of squares that the largest residual makes by itself. `normal_correlation` is the
    correlation of ordered residuals with normal scores, 1 on a straight probability plot.
    """

    skewness: float
    excess_kurtosis: float
    largest_share: float
    normal_correlation: float


@dataclass(frozen=True, slots=True)
class InfluentialObservation:
    """The observation with the largest Cook's distance (1977); `row` counts from 1 among the observations.

    It is `influential` beyond the median of F with p and n − p degrees of freedom: leaving it out
    would move the coefficients as far as to the rim of their joint 50% region.
    """

    row: int
    distance: float
    limit: float
    influential: bool
    levels: tuple[str, ...]
    words: str


@dataclass(frozen=True, slots=True)
class AssumptionChecks:
    """Checks of the model's assumptions; one that fails is a warning in words.

    `trust` says which result answers the question: the "means", "both" means and quantiles, each
    its own question, the "quantiles", or "neither" where assumptions fail and the observations are
    too few for quantiles; `advice` says so in a sentence. `shape` and `influential`
    are None where there is no error to look at.
    """

    checks: tuple[CheckResult, ...]
    n: int
    alpha: float
    method: str
    warnings: tuple[str, ...]
    shape: ErrorShape | None = None
    influential: InfluentialObservation | None = None
    trust: Trust = "means"
    advice: str = ""
