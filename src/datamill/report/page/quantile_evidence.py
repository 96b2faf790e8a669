"""Quantile regression beside the means, for a reader whose data do not suit the linear model."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from datamill.analysis.model_data.coding import Term
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.model_data.question import ModelData
from datamill.analysis.quantile.fits import count_needed
from datamill.analysis.quantile.model import fit_quantiles
from datamill.analysis.quantile.records import QuantileFit, QuantileModel
from datamill.analysis.records import Interval, LinearModel
from datamill.analysis.response import ResponseAnalysis
from datamill.experiment.errors import InputError
from datamill.report.figures.figure import Figure
from datamill.report.figures.quantile_figures import draw_effects_by_quantile
from datamill.report.numbers import (
    Scale,
    count_decimals,
    finish_sentence,
    format_fixed,
    format_p,
    format_signed,
    name_confidence,
)
from datamill.report.page.tables import TableView
from datamill.report.term_names import spell_quantile_terms
from datamill.report.verbs.quantile_answer import (
    choose_headline,
    choose_model_scale,
    is_detected,
    state_quantiles,
)
from datamill.report.verbs.quantile_warnings import list_quantile_warnings

_MIDDLE = (0.1, 0.25, 0.5, 0.75, 0.9)
#: Quantiles that a tail may be judged by, the most extreme first; the data decide.
_TAILS = (0.999, 0.99, 0.95, 0.9)
#: Up to this many (design points × coefficients × quantiles × draws) drawing intervals takes a second.
#: Beyond, there are fewer draws.
_MOST_WORK = 12_000_000
_MOST_DRAWS, _FEW_DRAWS = 9999, 199
#: A model with more coefficients keeps only the interactions that the analysis of variance detected.
_MOST_COEFFICIENTS = 40
#: Rows of the table of one quantile.
_MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class QuantileEvidence:
    """What a page shows of quantile regression: sentences, a figure, and the table of one tail."""

    sentences: tuple[str, ...]
    figure: Figure
    quantile: float
    table: TableView
    notes: tuple[str, ...]


def gather_quantiles(analysis: ResponseAnalysis) -> QuantileEvidence | None:
    """Fit quantiles to what the linear model was fitted to; None where that cannot be done.

    The tail is the one that users suffer from: slow trials where lower is better, low rates where
    higher is. It is as extreme as the number of observations allows for an interval without
    assumptions.
    """
    model = analysis.model
    if model is None or not model.factors:
        return None
    observations = analysis.observations
    terms = _choose_terms(analysis, model)
    parameters = 1 + sum(row.term.df for row in model.terms if row.term in terms)
    cells = observations.cells.counts
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
            ModelData(observations, terms),
            quantiles,
            replicates=None if saturated else draws if affordable else _FEW_DRAWS,
            confidence=analysis.confidence,
            alpha=analysis.alpha,
        )
    except InputError:
        return None
    # What is said is about the last one.
    told = spell_quantile_terms(replace(found, fits=found.fits[::-1]) if low else found)
    headline = choose_headline(told) or told.fits[-1]
    left_out = [row.term.name for row in model.terms if row.term not in terms]
    return QuantileEvidence(
        sentences=state_quantiles(told, analysis.response.name, analysis.unit),
        figure=draw_effects_by_quantile(observations, found),
        quantile=headline.quantile,
        table=tabulate_fit(observations, told, headline, analysis.unit),
        notes=_note(told, left_out, analysis),
    )


def _choose_terms(analysis: ResponseAnalysis, model: LinearModel) -> tuple[Term, ...]:
    terms = tuple(row.term for row in model.terms)
    if 1 + sum(term.df for term in terms) <= _MOST_COEFFICIENTS:
        return terms
    detected = set()
    if analysis.influence is not None:
        detected = {item.term for item in analysis.influence.terms if item.detected}
    return tuple(term for term in terms if term.order == 1 or term in detected)


def _note(model: QuantileModel, left_out: list[str], analysis: ResponseAnalysis) -> tuple[str, ...]:
    notes = [_describe_detection(model), f"Method: {finish_sentence(model.method)}"]
    coding = "; ".join(
        f"{factor.name} {factor.levels[0]} / {factor.levels[1]}"
        for factor in model.factors
        if len(factor.levels) == 2
    )
    if coding:
        notes.append(f"Low / high level: {coding}; an effect is half the change from low to high.")
    if left_out:
        notes.append(
            f"{len(left_out)} interactions that the analysis of variance did not detect are left out."
        )
    warnings = list_quantile_warnings(model, analysis.response.name, analysis.unit)
    return (*notes, *(finish_sentence(warning) for warning in warnings))


def _describe_detection(model: QuantileModel) -> str:
    return (
        "Bold rows and filled points were detected: p adjusted for the number of terms at the quantile "
        f"(Holm) < {model.alpha:g}. Intervals ({name_confidence(model.confidence)}) and p-values are those "
        "of each effect by itself."
    )


def tabulate_fit(observations: Observations, model: QuantileModel, fit: QuantileFit, unit: str) -> TableView:
    """Effects on one quantile with interval and p, as ASPLOS 2013, Table 4."""
    scale = choose_model_scale(model, unit or observations.unit)
    shown = f" ({scale.unit})" if scale.unit else ""
    rows: list[tuple[str, ...]] = [("intercept", *_spell(fit.coefficients[0].value, scale, signed=False), "")]
    strong = []
    for term in fit.terms:
        own = [row for row in fit.coefficients if row.term == term.term.name]
        name = term.term.name
        if is_detected(model, fit, term):
            strong.append(len(rows))
        if len(own) == 1:
            rows.append((name, *_spell(own[0].value, scale), _format_tail(model, own[0].p)))
            continue
        rows.append((name, "", "", _format_tail(model, term.p)))
        if term.levels:
            rows += [
                (f"\u2003{effect.levels[0]}", *_spell(effect.value, scale), "") for effect in term.levels
            ]
        else:
            rows += [
                (
                    f"\u2003{row.name}",
                    *_spell(row.value, scale),
                    _format_tail(model, row.p),
                )
                for row in own
            ]
    if len(rows) > _MOST_ROWS:
        rest = len(rows) - _MOST_ROWS
        rows = [*rows[:_MOST_ROWS], (f"{rest} further rows: datamill analyze quantiles", "", "", "")]
        strong = [index for index in strong if index < _MOST_ROWS]
    headers = ("factor", f"effect{shown}", f"{name_confidence(model.confidence)} interval", "p")
    return TableView(headers, tuple(rows), strong=tuple(strong))


def _spell(value: Interval, scale: Scale, *, signed: bool = True) -> tuple[str, str]:
    half = (value.high - value.low) / 2 * scale.factor
    decimals = count_decimals(half)
    write = format_signed if signed else format_fixed
    low, high = (
        write(bound * scale.factor, decimals) if abs(bound) < float("inf") else "unbounded"
        for bound in (value.low, value.high)
    )
    return write(value.estimate * scale.factor, decimals), f"{low} to {high}"


def _format_tail(model: QuantileModel, p: float | None) -> str:
    """p; of a number of draws no less than they can show."""
    if p is not None and model.replicates is not None and p <= 2.0 / (model.replicates + 1):
        return f"≤ {format_p(2.0 / (model.replicates + 1))}"
    return format_p(p)
