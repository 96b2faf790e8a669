"""Coefficients of the mean, to stand beside those of quantiles: in the same two codings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from datamill.analysis.interval import Interval
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.model_data.coding import name_changes, recode_from_first


@dataclass(frozen=True, slots=True)
class MeanCoefficient:
    """A coefficient of the mean with its interval; `p` is two-sided, None of the intercept or without
    error.
    """

    name: str
    term: str
    value: Interval
    standard_error: float
    p: float | None


@dataclass(frozen=True, slots=True)
class MeanLines:
    """What least squares give where quantile regression gives a value for each quantile.

    `effects` have the coding of the linear model, −1/+1; `changes` that from the first level, 0/1, and none
    where the model has no such coding. Both begin with the intercept.
    """

    effects: tuple[MeanCoefficient, ...]
    changes: tuple[MeanCoefficient, ...]
    confidence: float
    method: str


def find_mean_lines(model: LinearModel) -> MeanLines:
    """Return the coefficients of a linear model with their intervals, in both codings.

    In the 0/1 coding they are sums of the others (thesis 2019, equation 2.2); intervals are Student's.
    """
    values = np.array([model.mean.estimate, *(row.value.estimate for row in model.coefficients)])
    names = ["intercept", *(row.name for row in model.coefficients)]
    of_term = ["", *(row.term for row in model.coefficients)]
    terms = [row.term for row in model.terms]
    recoded = recode_from_first(model.factors, terms)
    changes: tuple[MeanCoefficient, ...] = ()
    if recoded is not None:
        changed = ["intercept", *(name for term in terms for name in name_changes(term, model.factors))]
        changes = _spell(model, changed, of_term, values, recoded)
    effects = _spell(model, names, of_term, values, np.eye(values.size))
    return MeanLines(effects, changes, model.confidence, "least squares, Student's intervals")


def _spell(
    model: LinearModel, names: Sequence[str], of_term: Sequence[str], values: FloatArray, weights: FloatArray
) -> tuple[MeanCoefficient, ...]:
    assert model.covariance is not None
    critical = -float(stdtrit(model.error_df, (1 - model.confidence) / 2))
    rows = []
    for index, (name, term, own) in enumerate(zip(names, of_term, weights, strict=True)):
        estimate = float(own @ values)
        error = float(np.sqrt(max(float(own @ model.covariance @ own), 0.0)))
        reach = critical * error
        p = None if index == 0 or error == 0 else float(2 * stdtr(model.error_df, -abs(estimate) / error))
        value = Interval(estimate, estimate - reach, estimate + reach)
        rows.append(MeanCoefficient(name, term, value, error, p))
    return tuple(rows)
