"""Results of quantile regression, as frozen records: effects on each quantile with intervals and p-values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from datamill.analysis.interval import Interval
from datamill.analysis.linear.linear_model import LevelEffect, LevelGap
from datamill.analysis.model_data.cells import ModelFactor
from datamill.analysis.model_data.coding import Term

#: Ways to get intervals, each with what it is in a few words; `auto` chooses among them.
ERROR_METHODS = {
    "auto": "cluster where trials have several observations, else binomial; with covariates rows, or nid "
    "when there are many",
    "binomial": "counts below a cell's quantile drawn from their exact distribution; factors only",
    "nid": "sandwich, densities from fits at nearby quantiles (Hendricks and Koenker)",
    "kernel": "sandwich, densities from residuals by a kernel (Powell)",
    "iid": "one density for all observations; wrong where spreads differ",
    "rank": "inverted rank tests (Gutenbrunner, Jurečková, Koenker and Portnoy)",
    "cluster": "bootstrap of whole trials",
    "block": "bootstrap of blocks of successive observations; needs a run order",
    "rows": "bootstrap of single observations",
}


class Described(Protocol):
    """What a report says of the observations besides the model: those in memory, or streamed ones."""

    @property
    def response(self) -> str:
        """Name of the response."""

    @property
    def unit(self) -> str:
        """Its unit, empty when nobody said."""

    @property
    def excluded(self) -> int:
        """Rows that were judged invalid."""

    @property
    def put_aside(self) -> tuple[tuple[str, int], ...]:
        """Rows that are no observations of the question, by what they are."""


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """The response of a table that stays on the disk."""

    response: str
    unit: str = ""
    excluded: int = 0
    put_aside: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class QuantileCoefficient:
    """One coefficient at one quantile; of a factor with two levels, half the change from low to high.

    `standard_error` is None where the method gives none. `p` is two-sided and not adjusted for the
    number of coefficients; None where nothing varies.
    """

    name: str
    term: str
    value: Interval
    standard_error: float | None
    p: float | None


@dataclass(frozen=True, slots=True)
class QuantileTerm:
    """A term at one quantile: the test that all its coefficients are zero.

    `p_adjusted` is Holm's over the terms at this quantile, None for a block. `levels` has the
    deviation of every level of a main effect with more than two, `gap` the change between the two of them
    that differ most.
    """

    term: Term
    p: float | None
    p_adjusted: float | None
    levels: tuple[LevelEffect, ...]
    gap: LevelGap | None = None


#: Share of an interval from which on the width of a flat bottom is told.
_NOTED_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class QuantileFit:
    """The model of one quantile.

    `coefficients` begin with the intercept, the mean over design points of the cells' quantiles in
    a saturated model. `objective` is the minimised sum of check functions. With `unique` false
    other coefficients have the same objective; these are the limit from below, and from those of the
    limit from above they differ by up to `flat_width`, in the unit of the response: slopes count where
    their covariate is farthest from its mean. `flat_share` is that over the widest interval of a
    coefficient, counted alike. `extreme` says that the observations are too few for this quantile, which
    `needed` of them suffice for in each cell (for each coefficient, where there are fewer of these).
    `changes` are the coefficients of the same model in the 0/1 coding, from the first level of each factor
    (thesis 2019, equation 2.2); none where an interaction stands without a term that it contains.
    """

    quantile: float
    coefficients: tuple[QuantileCoefficient, ...]
    terms: tuple[QuantileTerm, ...]
    objective: float
    unique: bool
    flat_width: float
    flat_share: float
    needed: int
    extreme: bool
    changes: tuple[QuantileCoefficient, ...] = ()

    @property
    def is_flat(self) -> bool:
        """Whether other solutions differ by a share of the error that a reader should know of."""
        return self.flat_share > _NOTED_SHARE


@dataclass(frozen=True, slots=True)
class QuantileModel:
    """Linear quantile regression at several quantiles (ASPLOS 2013, equation 2).

    `cells` counts the combinations of levels with data, `smallest_cell` the observations of the one
    with fewest. `errors` is the key of the method in `ERROR_METHODS`, `method` the same in words.
    `crossings` counts the design points (with covariates, the observations) at which a higher
    quantile is fitted below a lower one. `replicates` and `seed` are None where nothing is drawn.
    Covariates count from their means, `covariate_means`. `blocks` names terms that nobody asks about.
    `trials` counts what observations belong to together, `units`: trials, or builds of several trials.
    """

    factors: tuple[ModelFactor, ...]
    covariates: tuple[str, ...]
    terms: tuple[Term, ...]
    n: int
    trials: int | None
    cells: int
    smallest_cell: int
    saturated: bool
    fits: tuple[QuantileFit, ...]
    errors: str
    method: str
    confidence: float
    alpha: float
    replicates: int | None
    seed: int | None
    not_estimable: tuple[str, ...]
    crossings: int
    warnings: tuple[str, ...]
    covariate_means: tuple[float, ...] = ()
    blocks: tuple[str, ...] = ()
    units: Literal["trials", "builds"] = "trials"

    def passes(self, term: QuantileTerm) -> bool:
        """Whether the p of a term at its quantile, adjusted for the number of terms, is below alpha."""
        return term.p_adjusted is not None and term.p_adjusted < self.alpha

    def passes_among_all(self, term: QuantileTerm) -> bool:
        """Whether it is so allowing for the number of quantiles, too."""
        return term.p_adjusted is not None and term.p_adjusted * len(self.fits) < self.alpha

    def detects(self, fit: QuantileFit, term: QuantileTerm) -> bool:
        """Whether a term is told from zero at its quantile, adjusted for the number of terms.

        Never where the observations are too few for the quantile: levels that are alike are told apart there
        in up to one of six cases.
        """
        return not fit.extreme and self.passes(term)
