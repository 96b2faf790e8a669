"""A fitted linear model: its terms, coefficients and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray, ModelFactor
from datamill.analysis.model_data.coding import Term

#: How the sum of squares of a term is defined where terms overlap.
SquaresType = Literal["I", "II", "III"]


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
    `covariance` (p × p) is that of the coefficients, intercept first.
    `transform` is that of the response, such as "log"; then `shares` is empty.
    """

    factors: tuple[ModelFactor, ...]
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
    covariance: FloatArray | None = None

    @property
    def misfits(self) -> bool:
        """Whether cells were found to depart from the model, or there is no error to judge that by."""
        lack = self.lack_of_fit
        return lack is not None and (lack.p is None or lack.p < self.alpha)

    @property
    def blocks_differ(self) -> bool:
        """Whether blocks were found to differ, or there is no test of it."""
        gain = self.block_gain
        return gain is not None and (gain.p is None or gain.p < self.alpha)

    def detects(self, row: TermRow) -> bool:
        """Whether a term was told from zero, its p adjusted over the terms of interest."""
        return row.p_holm is not None and row.p_holm < self.alpha

    def detects_alone(self, row: TermRow) -> bool:
        """Whether a term would be told from zero if it were the only one that is asked about."""
        return row.p is not None and row.p < self.alpha

    @property
    def error_share(self) -> float:
        """The part of the total sum of squares that is left to chance."""
        return self.error_ss / self.total_ss

    def find_share(self, row: TermRow) -> float:
        """The part of the total sum of squares that a term has."""
        return row.sum_sq / self.total_ss

    def find_partial_share(self, row: TermRow) -> float | None:
        """Partial η²: a term's sum of squares over itself and the error's; None where both are zero."""
        whole = row.sum_sq + self.error_ss
        return row.sum_sq / whole if whole else None

    @property
    def effects_of_interest(self) -> tuple[TermRow, ...]:
        """The rows of all terms that are no blocks."""
        return tuple(row for row in self.terms if not row.block)
