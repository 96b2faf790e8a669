"""What a fitted model predicts, and by which model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from datamill.analysis.assumptions.assumption_checks import AssumptionChecks
from datamill.analysis.interval import Interval
from datamill.analysis.linear.linear_model import LackOfFit, LinearModel
from datamill.analysis.model_data.observations import Observations

#: How a numeric factor enters the model: by a slope in its value or in its logarithm.
Scale = Literal["linear", "log"]


@dataclass(frozen=True, slots=True)
class Slope:
    """A numeric factor that the model follows between its levels, from `low` to `high` in `unit`.

    `scale` says in what the response is a straight line, and `why` that was chosen. `levels` counts those
    that were measured. `error_ratio` is the error sum of squares of the other scale over that of the chosen
    one, None where there was no choice.
    """

    factor: str
    scale: Scale
    unit: str
    low: float
    high: float
    levels: int
    why: str
    error_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """The response at one combination of levels, in the response's own unit.

    `value` is the mean there with its confidence interval (of a transformed response the median); `new` has
    the same estimate with the interval for one further observation. `outside` names the factors whose level
    lies beyond those that were measured together with the other levels. `other` is what the other scale of
    the slope would say, None where there is one slope too many or no choice. `at` is the level of the first
    slope in its unit, None without one.
    """

    levels: tuple[tuple[str, str], ...]
    value: Interval
    new: Interval
    outside: tuple[str, ...] = ()
    other: float | None = None
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """The model along the first slope, the other levels being those of some prediction.

    `at` are levels of the slope in its unit (m); `values` and `news` are as in `Prediction`; `measured` are
    the observations there, (level, response) each, none where other slopes have other levels.
    """

    levels: tuple[tuple[str, str], ...]
    at: tuple[float, ...]
    values: tuple[Interval, ...]
    news: tuple[Interval, ...]
    measured: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Misfit:
    """How far the model misses the means of what was measured: lack of fit, and the largest miss.

    `test` is None where nothing can be judged: as many coefficients as measured combinations
    (`saturated`), or no combination that was measured twice. `largest` is in the unit of the model's
    response, and `percent` in percent of the mean that is missed, None where that may be zero or the
    response is transformed.
    """

    test: LackOfFit | None
    saturated: bool
    largest: float
    percent: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Predictions of one model; `blocks` names conditions that these are averages over."""

    observations: Observations
    model: LinearModel
    checks: AssumptionChecks
    slopes: tuple[Slope, ...]
    predictions: tuple[Prediction, ...]
    curves: tuple[Curve, ...]
    misfit: Misfit
    blocks: tuple[str, ...]
    confidence: float
    warnings: tuple[str, ...]

    @property
    def bends(self) -> bool:
        """Whether measured means were found to depart from the model."""
        test = self.misfit.test
        return test is not None and (test.p is None or test.p < self.model.alpha)
