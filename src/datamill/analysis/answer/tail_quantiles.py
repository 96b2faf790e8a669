"""Quantile regression where the means do not tell all, up to the tail that the data support."""

from __future__ import annotations

import math
from dataclasses import dataclass

from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.distribution.order_statistics import count_needed
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.model_data.coding import Term
from datamill.analysis.model_data.question import ModelData
from datamill.analysis.quantile.model import fit_quantiles
from datamill.analysis.quantile.quantile_model import QuantileModel
from datamill.experiment.errors import InputError

_MIDDLE = (0.1, 0.25, 0.5, 0.75, 0.9)
#: Quantiles that a tail may be judged by, the most extreme first; the data decide.
_TAILS = (0.999, 0.99, 0.95, 0.9)
#: Up to this many (design points × coefficients × quantiles × draws) drawing intervals takes a second.
#: Beyond, there are fewer draws.
_MOST_WORK = 12_000_000
_MOST_DRAWS, _FEW_DRAWS = 9999, 199
#: A model with more coefficients keeps only the interactions that the analysis of variance detected.
_MOST_COEFFICIENTS = 40


@dataclass(frozen=True, slots=True, eq=False)
class TailQuantiles:
    """Quantiles of a response beside its means; with `low` the tail that matters is the first one.

    `left_out` counts the interactions that the analysis of variance did not detect, and the model lacks.
    """

    model: QuantileModel
    low: bool
    left_out: int


def fit_tail_quantiles(analysis: ResponseAnalysis) -> TailQuantiles | None:
    """Fit quantiles to what the linear model was fitted to.

    None where means alone are to be trusted, or where it cannot be done. The tail is the one that users
    suffer from: slow trials where lower is better, low rates where higher is. It is as extreme as the number
    of observations allows for an interval without assumptions.
    """
    model, checks = analysis.model, analysis.checks
    if model is None or not model.factors or checks is None or not checks.checks or checks.trust == "means":
        return None
    terms = _choose_terms(analysis, model)
    parameters = 1 + sum(row.term.df for row in model.terms if row.term in terms)
    cells = analysis.observations.cells.counts
    saturated = parameters == cells.size
    behind = float(cells.min()) if saturated else model.n / parameters
    tail = next((tail for tail in _TAILS if count_needed(tail, analysis.confidence) <= behind), 0.9)
    # So many draws that a term can be detected at all, adjusted for the number of terms.
    draws = min(_MOST_DRAWS, math.ceil(2 * len(terms) / analysis.alpha) + 1)
    affordable = saturated or cells.size * parameters * (len(_MIDDLE) + 1) * draws <= _MOST_WORK
    low = analysis.response.direction == "higher"
    quantiles = sorted({*_MIDDLE, round(1 - tail, 6) if low else tail})
    try:
        found = fit_quantiles(
            ModelData(analysis.observations, terms),
            quantiles,
            replicates=None if saturated else draws if affordable else _FEW_DRAWS,
            confidence=analysis.confidence,
            alpha=analysis.alpha,
        )
    except InputError:
        return None
    return TailQuantiles(found, low, sum(row.term not in terms for row in model.terms))


def _choose_terms(analysis: ResponseAnalysis, model: LinearModel) -> tuple[Term, ...]:
    terms = tuple(row.term for row in model.terms)
    if 1 + sum(term.df for term in terms) <= _MOST_COEFFICIENTS:
        return terms
    detected = set()
    if analysis.influence is not None:
        detected = {item.term for item in analysis.influence.terms if item.detected}
    return tuple(term for term in terms if term.order == 1 or term in detected)
