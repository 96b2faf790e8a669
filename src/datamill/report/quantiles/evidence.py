"""Quantile regression beside the means, for a reader whose data do not suit the linear model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.answer.tail_quantiles import TailQuantiles
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.quantile.quantile_model import QuantileFit, QuantileModel
from datamill.experiment.messages.arguments import tell, verb
from datamill.experiment.messages.numbers import (
    format_given,
    format_level,
)
from datamill.experiment.messages.phrases import finish_sentence
from datamill.report.figures.figure import Figure
from datamill.report.quantiles.answer import (
    choose_headline,
    choose_model_scale,
    format_tail,
    state_quantiles,
)
from datamill.report.quantiles.figures import draw_effects_by_quantile
from datamill.report.quantiles.warnings import list_quantile_warnings
from datamill.report.tables.table import Table, build_table
from datamill.report.words.scales import Scale, round_interval
from datamill.report.words.term_names import spell_quantile_terms

#: Rows of the table of one quantile.
_MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class QuantileEvidence:
    """What a page shows of quantile regression: sentences, a figure, and the table of one tail."""

    sentences: tuple[str, ...]
    figure: Figure
    quantile: float
    table: Table
    notes: tuple[str, ...]


def view_quantiles(fitted: TailQuantiles | None, analysis: ResponseAnalysis) -> QuantileEvidence | None:
    """Put quantiles beside the means into words, a figure and a table; None without a fit."""
    if fitted is None:
        return None
    found, observations = fitted.model, analysis.observations
    # What is said is about the last one.
    told = spell_quantile_terms(replace(found, fits=found.fits[::-1]) if fitted.low else found)
    headline = choose_headline(told) or told.fits[-1]
    return QuantileEvidence(
        sentences=state_quantiles(told, analysis.response.name, analysis.unit),
        figure=draw_effects_by_quantile(observations, found),
        quantile=headline.quantile,
        table=tabulate_fit(observations, told, headline, analysis.unit),
        notes=_note(told, fitted.left_out, analysis),
    )


def _note(model: QuantileModel, left_out: int, analysis: ResponseAnalysis) -> tuple[str, ...]:
    notes = [_describe_detection(model), f"Method: {finish_sentence(model.method)}"]
    coding = "; ".join(
        f"{factor.name} {factor.levels[0]} / {factor.levels[1]}"
        for factor in model.factors
        if len(factor.levels) == 2
    )
    if coding:
        notes.append(f"Low / high level: {coding}; an effect is half the change from low to high.")
    if left_out:
        notes.append(f"{left_out} interactions that the analysis of variance did not detect are left out.")
    warnings = list_quantile_warnings(model, analysis.response.name, analysis.unit)
    return (*notes, *(finish_sentence(warning) for warning in warnings))


def _describe_detection(model: QuantileModel) -> str:
    return (
        "Bold rows and filled points were detected: p adjusted for the number of terms at the quantile "
        f"(Holm) < {format_given(model.alpha)}. Intervals ({format_level(model.confidence)}) and "
        "p-values are those "
        "of each effect by itself."
    )


def tabulate_fit(observations: Observations, model: QuantileModel, fit: QuantileFit, unit: str) -> Table:
    """Effects on one quantile with interval and p, as ASPLOS 2013, Table 4."""
    scale = choose_model_scale(model, unit or observations.unit)
    shown = f" ({scale.unit})" if scale.unit else ""
    rows: list[tuple[str, ...]] = [("intercept", *_spell(fit.coefficients[0].value, scale, signed=False), "")]
    strong = []
    for term in fit.terms:
        own = [row for row in fit.coefficients if row.term == term.term.name]
        name = term.term.name
        if model.detects(fit, term):
            strong.append(len(rows))
        if len(own) == 1:
            rows.append((name, *_spell(own[0].value, scale), format_tail(model, own[0].p)))
            continue
        rows.append((name, "", "", format_tail(model, term.p)))
        if term.levels:
            rows += [
                (f"\u2003{effect.levels[0]}", *_spell(effect.value, scale), "") for effect in term.levels
            ]
        else:
            rows += [
                (
                    f"\u2003{row.name}",
                    *_spell(row.value, scale),
                    format_tail(model, row.p),
                )
                for row in own
            ]
    if len(rows) > _MOST_ROWS:
        rest = len(rows) - _MOST_ROWS
        rows = [*rows[:_MOST_ROWS], (tell(f"{rest} further rows: {verb('analyze quantiles')}"), "", "", "")]
        strong = [index for index in strong if index < _MOST_ROWS]
    headers = ("factor", f"effect{shown}", f"{format_level(model.confidence)} interval", "p")
    return build_table(headers, tuple(rows), strong=tuple(strong))


def _spell(value: Interval, scale: Scale, *, signed: bool = True) -> tuple[str, str]:
    shown = round_interval(value, scale.factor, signed=signed, unbounded="unbounded")
    return shown.estimate, shown.ends
