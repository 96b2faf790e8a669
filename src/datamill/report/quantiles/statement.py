"""Quantile regression: the answer, effects by quantile, and ASPLOS Table 4."""

from __future__ import annotations

from datamill.analysis.interval import Interval
from datamill.analysis.linear.mean_lines import MeanLines
from datamill.analysis.quantile.quantile_model import Described, QuantileFit, QuantileModel
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_count,
    format_figures,
    format_given,
    format_level,
    name_quantile,
)
from datamill.report.quantiles.answer import (
    choose_headline,
    choose_model_scale,
    describe_detection,
    format_tail,
    rank_terms,
    state_quantiles,
)
from datamill.report.quantiles.warnings import list_quantile_warnings
from datamill.report.tables.left_out import list_left_out
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import Layout, Table, build_table
from datamill.report.tables.text import WIDTH
from datamill.report.words.scales import Scale, round_interval
from datamill.report.words.term_names import spell_quantile_terms

#: Quantiles up to this number have a table each.
_FEW = 3
#: Effects that the overview shows, beside the intercept: three lines each.
_MOST_EFFECTS = 9


def state_quantile_model(
    observations: Described,
    model: QuantileModel,
    *,
    mean: MeanLines | None = None,
    with_changes: bool = False,
) -> tuple[Part, ...]:
    """State a model: the answer, effects by quantile, and the table of each quantile that is shown.

    `with_changes` adds the coefficients of the 0/1 coding, those of the mean among them.
    """
    model = spell_quantile_terms(model)
    scale = choose_model_scale(model, observations.unit)
    unit = f" ({scale.unit})" if scale.unit else ""
    sentences = state_quantiles(model, observations.response, observations.unit)
    parts: list[Part] = [Paragraph(sentence, "  ") for sentence in sentences]
    parts += [BLANK, Heading(f"Quantile regression of {observations.response}{unit}")]
    if len(model.fits) > _FEW:
        parts += [BLANK, *_tabulate_overview(model, scale)]
        shown = [choose_headline(model) or model.fits[-1]]
    else:
        shown = [*model.fits]
    for fit in shown:
        title = f"Effects on the {name_quantile(fit.quantile)}{unit}"
        parts += [BLANK, Heading(title), _tabulate_fit(model, fit, scale)]
    if with_changes and model.fits[0].changes:
        parts += [BLANK, Heading(f"Changes from the first level (0/1 coding){unit}")]
        parts.append(_tabulate_changes(model, mean, scale))
    parts += [BLANK, Paragraph(describe_detection(model), "  ")]
    parts += _describe_data(observations, model)
    parts.append(Paragraph(f"Method: {model.method}.", "  "))
    warnings = list_quantile_warnings(model, observations.response, observations.unit)
    parts += [Paragraph(f"Warning: {warning}.", "  ") for warning in warnings]
    return tuple(parts)


def _describe_data(observations: Described, model: QuantileModel) -> list[Part]:
    trials = "" if model.trials is None else f" in {format_count(model.trials)} {model.units}"
    sizes = (
        f"{format_count(model.cells)} design points, the smallest with {format_count(model.smallest_cell)}"
    )
    parts: list[Part] = [Paragraph(f"n = {format_count(model.n)}{trials}; {sizes}.")]
    coding = "; ".join(
        f"{factor.name} {factor.levels[0]} / {factor.levels[1]}"
        for factor in model.factors
        if len(factor.levels) == 2
    )
    if any(term.df > 1 and term.order == 1 and not term.covariates for term in model.terms):
        text = (
            "Of more than two levels: deviations from the mean over levels, and the largest change between "
            "two, whose interval holds for all pairs."
        )
        parts.append(Paragraph(text, "  "))
    if coding:
        text = f"Low / high level: {coding}; an effect is half the change from low to high."
        parts.append(Paragraph(text, "  "))
    if model.covariates:
        means = [
            f"{name} from {format_figures(mean, 10)}"
            for name, mean in zip(model.covariates, model.covariate_means, strict=True)
        ]
        text = (
            "A covariate's effect is for one unit more. Covariates count from their means "
            f"({', '.join(means)}): there the intercept and the effects of factors hold."
        )
        parts.append(Paragraph(text, "  "))
    return [*parts, *list_left_out(observations.excluded, observations.put_aside)]


def _tabulate_fit(model: QuantileModel, fit: QuantileFit, scale: Scale) -> Table:
    """Table 4: Factor, Low, Estimate, High, p-value."""
    level = format_level(model.confidence)
    rows: list[tuple[str, Interval | None, str]] = []
    by_term = {term.term.name: term for term in fit.terms}
    rows.append(("(intercept)", fit.coefficients[0].value, ""))
    for name, term in by_term.items():
        mark = "*" if model.detects(fit, term) else ""
        own = [row for row in fit.coefficients if row.term == name]
        if len(own) == 1:
            rows.append((name, own[0].value, f"{format_tail(model, own[0].p)}{mark:1}"))
            continue
        rows.append((name, None, f"{format_tail(model, term.p)}{mark:1}"))
        if term.levels:
            rows += [(f"  {effect.levels[0]}", effect.value, "") for effect in term.levels]
            if term.gap is not None:
                rows.append((f"  {term.gap.low} to {term.gap.high}", term.gap.value, ""))
        else:
            rows += [(f"  {row.name}", row.value, f"{format_tail(model, row.p)} ") for row in own]
    decimals = _choose_decimals([value for _, value, _ in rows[1:] if value is not None], scale)
    first = _choose_decimals([fit.coefficients[0].value], scale)
    cells = [("Factor", f"Low {level}", "Estimate", f"High {level}", "p-value ")]
    for index, (name, value, p) in enumerate(rows):
        shown = f"{name} (block)" if name in model.blocks else name
        cells.append((shown, *_format_interval(value, scale, decimals if index else first), p))
    widths = [max(len(row[column]) for row in cells) + 3 for column in range(1, 5)]
    room = min(max(len(row[0]) for row in cells), WIDTH - sum(widths))
    return build_table(cells[0], cells[1:], layout=Layout(tuple(widths), room))


def _tabulate_changes(model: QuantileModel, mean: MeanLines | None, scale: Scale) -> Table:
    """Coefficients of the 0/1 coding: a column a quantile, the mean's last."""
    heads = [f"{format_given(fit.quantile)} " for fit in model.fits]
    level = format_level(model.confidence)
    table = [("Change at quantile", *heads, *(["mean "] if mean is not None else []))]
    for index, row in enumerate(model.fits[0].changes):
        values = [fit.changes[index].value for fit in model.fits]
        values += [mean.changes[index].value] if mean is not None else []
        decimals = max(0, _choose_decimals(values, scale) - 1)
        shown = [_format_interval(value, scale, decimals, unbounded="∞") for value in values]
        name = row.name if row.term else "(intercept)"
        table.append((name, *(f"{own[1]} " for own in shown)))
        for word, side in (("low", 0), ("high", 2)):
            table.append((f"    {word} {level}", *(f"{own[side]} " for own in shown)))
    return build_table(table[0], table[1:], layout=Layout(is_folded=True))


def _format_interval(
    value: Interval | None, scale: Scale, decimals: int, unbounded: str = "unbounded"
) -> tuple[str, str, str]:
    if value is None:
        return ("", "", "")
    shown = round_interval(value, scale.factor, decimals=decimals, unbounded=unbounded)
    return (shown.low, shown.estimate, shown.high)


def _choose_decimals(values: list[Interval], scale: Scale) -> int:
    """Decimals that show three figures of the typical error."""
    errors = sorted((value.high - value.low) / 2 * scale.factor for value in values)
    errors = [error for error in errors if 0 < error < float("inf")]
    return count_decimals(errors[len(errors) // 2], digits=3) if errors else 3


def _choose_effects(model: QuantileModel) -> list[tuple[str, str]]:
    """Coefficients of the strongest terms, and these, in the order of the model."""
    of_term: dict[str, list[str]] = {}
    for row in model.fits[0].coefficients[1:]:
        of_term.setdefault(row.term, []).append(row.name)
    kept: list[str] = []
    for term in rank_terms(model):
        if not kept or len(kept) + len(of_term[term]) <= _MOST_EFFECTS:
            kept += of_term[term]
    return [(row.name, row.term) for row in model.fits[0].coefficients[1:] if row.name in kept]


def _tabulate_overview(model: QuantileModel, scale: Scale) -> list[Part]:
    """Effects by quantile, each with the interval below it."""
    chosen = _choose_effects(model)
    left_out = len(model.fits[0].coefficients) - 1 - len(chosen)
    groups: list[tuple[str, list[Interval], list[bool]]] = [
        ("(intercept)", [fit.coefficients[0].value for fit in model.fits], [False] * len(model.fits))
    ]
    for label, name in chosen:
        terms = [next(term for term in fit.terms if term.term.name == name) for fit in model.fits]
        found = [model.detects(fit, term) for fit, term in zip(model.fits, terms, strict=True)]
        values = [next(row.value for row in fit.coefficients if row.name == label) for fit in model.fits]
        groups.append((label, values, found))
    table = [("Effect at quantile", *(f"{format_given(fit.quantile)} " for fit in model.fits))]
    level = format_level(model.confidence)
    for label, values, found in groups:
        decimals = max(0, _choose_decimals(values, scale) - 1)
        shown = [_format_interval(value, scale, decimals, unbounded="∞") for value in values]
        marks = ["*" if ok else " " for ok in found]
        table.append((label, *(own[1] + mark for own, mark in zip(shown, marks, strict=True))))
        for word, side in (("low", 0), ("high", 2)):
            table.append((f"    {word} {level}", *(f"{own[side]} " for own in shown)))
    parts: list[Part] = [build_table(table[0], table[1:], layout=Layout(is_folded=True))]
    if left_out > 0:
        text = tell(
            f"({left_out} weaker effects are left out here; {argument('json')} has all, with their intervals)"
        )
        parts.append(Paragraph(text))
    return parts
