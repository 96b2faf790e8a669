"""What follows the table of an analysis of variance: shares of the mean, blocks, checks, quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence

from datamill.analysis.assumptions.assumption_checks import AssumptionChecks
from datamill.analysis.interval import Interval
from datamill.analysis.linear.linear_model import EffectShare, LinearModel
from datamill.analysis.quantile.quantile_model import QuantileModel
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import (
    count_decimals,
    count_mantissa_decimals,
    format_exponent,
    format_figures,
    format_fixed,
    format_given,
    format_level,
    format_p,
    name_quantile,
)
from datamill.report.tables.statement import Heading, Paragraph, Part, list_paragraphs
from datamill.report.tables.table import Layout, build_table
from datamill.report.words.scales import RoundedInterval
from datamill.report.words.short_names import apply_short_names

#: Combinations of levels that an interaction shows in the table of shares; of more, the largest.
_MOST_COMBINATIONS = 6
#: Terms whose adjusted p-values stand in a line.
_MOST_ADJUSTED = 8
#: Coefficients that the table of quantiles shows; of more, those of terms told from zero.
_MOST_COEFFICIENTS = 30
#: Smaller errors take an exponent.
_SMALLEST_PLAIN = 1e-7
_SIGNS = {"held": "ok", "harmless": "harmless", "failed": "FAILS", "unknown": "unclear"}


def choose_shares(model: LinearModel) -> tuple[EffectShare, ...]:
    """The shares that are shown: blocks never, and of interactions with many combinations the largest."""
    chosen: list[EffectShare] = []
    for row in model.effects_of_interest:
        own = [share for share in model.shares if share.term == row.term.name]
        if row.term.order > 1 and len(own) > _MOST_COMBINATIONS:
            own = [max(own, key=lambda share: abs(share.percent))]
        chosen += own
    return tuple(chosen)


def name_share(share: EffectShare) -> str:
    """`x1 × x2`, or with the levels it is about, `flag (-O2)`."""
    return share.term if not share.levels else f"{share.term} ({', '.join(share.levels)})"


def state_shares(model: LinearModel) -> list[Part]:
    """Effects in percent of the mean with one standard error, and p adjusted for the number of terms."""
    shares = choose_shares(model)
    tests = {row.term.name: row for row in model.effects_of_interest}
    if not shares:
        return list_paragraphs(
            "Effects are not shown as shares of the mean: of a transformed response they would depend on its "
            "unit."
            if model.transform
            else "Effects are not shown as shares of the mean: the mean may be zero."
            if any(not row.term.covariates for row in model.effects_of_interest)
            else ""
        )
    smallest = min((share.standard_error for share in shares if share.standard_error > 0), default=0.0)
    names = [name_share(share) for share in shares]
    room = min(56, max(len("Effect"), *(len(apply_short_names(name)) for name in names)))
    rows = []
    shown = ""
    for name, share in zip(names, shares, strict=True):
        adjusted = tests[share.term].p_holm
        tail = "" if share.term == shown else format_p(adjusted, "-")
        shown = share.term
        percents = (_spell_plainly(value, smallest) for value in (share.percent, share.standard_error))
        rows.append((name, *(f"{percent}%" for percent in percents), tail))
    layout = Layout((13, 13, 12), room, rule=None, margin="  ")
    parts: list[Part] = [
        Heading("Half-changes as shares of the mean, with one standard error:"),
        Paragraph(
            "(half the change from low to high level; of more levels, each one's distance from their mean)"
        ),
        build_table(("Effect", "Share", "Std. error", "p (Holm)"), rows, layout=layout),
    ]
    count = len(tests)
    if count > 1:
        text = (
            f"p (Holm) is adjusted for the {count} terms that are tested at once; the p-values in the table "
            "above are of each term by itself."
        )
        parts.append(Paragraph(text, "  "))
    return parts


def state_holm(model: LinearModel) -> list[Part]:
    """P-values adjusted for the number of terms, the smallest first; nothing where there is one term."""
    tested = [(row.p_holm, row.term.name) for row in model.effects_of_interest if row.p_holm is not None]
    if len(tested) < 2:
        return []
    shown = sorted(tested)[:_MOST_ADJUSTED]
    named = ", ".join(f"{name} {format_p(p)}" for p, name in shown)
    rest = f" and {len(tested) - len(shown)} more" if len(tested) > len(shown) else ""
    return [Paragraph(f"p adjusted for the {len(tested)} terms (Holm): {named}{rest}.", "  ")]


def format_square(value: float) -> str:
    """A sum of squares or a mean square: nine figures, six below one; beyond these six and an exponent."""
    if value == 0:
        return "0"
    if not 1e-3 <= value < 1e9:
        return format_figures(value, 6)
    power = math.floor(math.log10(value))
    return format_fixed(value, 5 - power if power < 0 else min(6, 8 - power))


def state_blocks(model: LinearModel, unit: str = "") -> list[Part]:
    """What the blocks gained, in words; `unit` is that of squares."""
    unit, gain = f" {unit}" if unit else "", model.block_gain
    if gain is None:
        return []
    names = " and ".join(gain.blocks)
    if gain.efficiency is None:
        text = f"Blocks ({names}) are not effects of interest; there is no error to judge them by."
        return [Paragraph(text, "  ")]
    found = (
        f"Blocks ({names}) are not effects of interest: sum of squares {format_square(gain.sum_sq)}{unit} on "
        f"{gain.df} df after all other terms (p {_say(gain.p)})."
    )
    if gain.efficiency > 1.005:
        found += (
            f" Blocking gained precision: without it the error mean square would be "
            f"{format_square(gain.error_ms_without)}{unit}, and the same precision would take "
            f"{format_figures(gain.efficiency)} times as many trials."
        )
    elif not model.blocks_differ:
        found += " Blocking gained nothing here, and cost little: these conditions hardly differ."
    return [Paragraph(found, "  ")]


def _say(p: float | None) -> str:
    text = format_p(p)
    return text if text.startswith(("<", "no")) else f"= {text}"


def state_checks(checks: AssumptionChecks) -> list[Part]:
    """One line an assumption: how it fares, in words, and by which test."""
    if not checks.checks:
        return []
    parts: list[Part] = [Heading("Assumptions of the linear model:")]
    for check in checks.checks:
        sign = _SIGNS[check.state]
        text = f"  {sign:<9}{check.assumption}: {check.words}"
        if check.advice:
            text += f". {check.advice.rstrip('.')}"
        parts.append(Paragraph(f"{text} ({check.method}: p {_say(check.p)}).", " " * 11))
    if checks.shape is not None:
        text = (
            f"  {'':<9}residuals: skewness {format_figures(checks.shape.skewness)}, excess kurtosis "
            f"{format_figures(checks.shape.excess_kurtosis)}, correlation with normal scores "
            f"{format_fixed(checks.shape.normal_correlation, 4)}."
        )
        parts.append(Paragraph(text, " " * 11))
    if checks.influential is not None:
        sign = _SIGNS["failed" if checks.influential.influential else "held"]
        parts.append(Paragraph(f"  {sign:<9}single observations: {checks.influential.words}.", " " * 11))
    return [*parts, Paragraph(f"=> {checks.advice}", "   ")] if checks.advice else parts


def state_quantiles_beside(
    model: LinearModel, quantiles: QuantileModel, checks: AssumptionChecks, warnings: Sequence[str]
) -> list[Part]:
    """Effects on the mean beside those on quantiles, with intervals, and which to trust.

    `warnings` limit the quantiles; those that the linear model has as well are not said again.
    """
    heads = ["mean", *(name_quantile(fit.quantile) for fit in quantiles.fits)]
    columns = [
        {"(mean)": model.mean, **{item.name: item.value for item in model.coefficients}},
        *(
            {("(mean)" if at == 0 else item.name): item.value for at, item in enumerate(fit.coefficients)}
            for fit in quantiles.fits
        ),
    ]
    blocks = {row.term.name for row in model.terms if row.block}
    names = ["(mean)", *(item.name for item in model.coefficients if item.term not in blocks)]
    told = _list_terms_told(model, quantiles)
    if len(names) > _MOST_COEFFICIENTS:
        terms = {item.name: item.term for item in model.coefficients}
        names = [name for name in names if name == "(mean)" or terms[name] in told]
    cells = [[_format_interval(column.get(name)) for column in columns] for name in names]
    labels = ["(overall)" if name == "(mean)" else name for name in names]
    room = max(len("Effect on"), *(len(apply_short_names(label)) for label in labels))
    widths = [max(len(row[at]) for row in [heads, *cells]) + 2 for at in range(len(heads))]
    layout = Layout(tuple(widths), room, rule=None, margin="  ")
    rows = [(label, *row) for label, row in zip(labels, cells, strict=True)]
    parts: list[Part] = [
        Heading(
            f"Effects on the mean and on quantiles, with {format_level(quantiles.confidence)} intervals:"
        ),
        Paragraph("(coefficients: half the change from low to high level; a covariate's slope)"),
        build_table(("Effect on", *heads), rows, layout=layout),
    ]
    left_out = len(model.coefficients) + 1 - len(names) - sum(c.term in blocks for c in model.coefficients)
    if left_out:
        text = tell(
            f"Left out: {left_out} coefficients of terms that were detected neither in the mean nor in the "
            f"quantiles (Holm p < {format_given(model.alpha)}); {argument('json')} has them."
        )
        parts.append(Paragraph(text, "  "))
    trust = {
        "neither": checks.advice,
        "quantiles": "Trust the columns of the quantiles; the mean's intervals and p-values are approximate.",
        "both": "Both are sound: the mean is for totals, the quantiles for the usual trial and slow ones.",
        "means": "The mean's column stands; the quantiles show where in the distribution the effects lie.",
    }[checks.trust]
    parts.append(Paragraph(f"=> {trust}", "   "))
    parts.append(Paragraph(f"Method of the quantiles: {quantiles.method}.", "  "))
    for warning in warnings:
        if warning not in model.warnings:
            parts.append(Paragraph(f"Warning: {warning.rstrip('.')}.", "  "))
    return parts


def _list_terms_told(model: LinearModel, quantiles: QuantileModel) -> set[str]:
    """Terms that the mean or some quantile tells from zero, adjusted for their number."""
    told = {row.term.name for row in model.terms if model.detects(row)}
    for fit in quantiles.fits:
        told |= {item.term.name for item in fit.terms if quantiles.passes(item)}
    return told


def _format_interval(value: Interval | None) -> str:
    if value is None:
        return "-"
    error = (value.high - value.low) / 2
    ends = (value.estimate, value.low, value.high)
    return RoundedInterval(*(_spell_plainly(item, error) for item in ends)).phrase()


def _spell_plainly(value: float, error: float) -> str:
    """A number with two figures of an error, as short as a column of a table."""
    if 0 < error < _SMALLEST_PLAIN:
        return format_exponent(value, count_mantissa_decimals(value, error))
    return format_fixed(value, count_decimals(error))


def state_reduced(model: LinearModel, squares: Sequence[str]) -> list[Part]:
    """The reduced table of thesis 2015, Table 4.2: mean squares (`squares`, the error last) and p."""
    names = [f"{row.term.name} (block)" if row.block else row.term.name for row in model.terms]
    room = max(len("Residuals"), *(len(name) for name in names))
    tails = [format_p(row.p, "-") for row in model.terms]
    rows = [*zip(names, squares, tails, strict=False), ("Residuals", squares[-1])]
    text = (
        "All terms stay in the model: pooling those with a large p into the error would make the p of "
        "others too small."
    )
    layout = Layout((14, 12), room)
    return [build_table(("Factor", "Mean Sq.", "p-value"), rows, layout=layout), Paragraph(text, "  ")]
