"""What was checked of the assumptions of a model, and whether it may be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
