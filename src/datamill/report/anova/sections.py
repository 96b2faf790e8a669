"""What follows the table of an analysis of variance: shares of the mean, blocks, checks, quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence

from datamill.analysis.quantile.records import QuantileModel
from datamill.analysis.records import AssumptionChecks, BlockGain, EffectShare, Interval, LinearModel
from datamill.report.tables.layout import wrap
from datamill.report.words.numbers import (
    count_decimals,
    count_mantissa_decimals,
    format_fixed,
    format_p,
    name_confidence,
    name_quantile,
)

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


def format_shares(model: LinearModel) -> list[str]:
    """Effects in percent of the mean with one standard error, and p adjusted for the number of terms."""
    shares = choose_shares(model)
    tests = {row.term.name: row for row in model.effects_of_interest}
    if not shares:
        return wrap(
            "Effects are not shown as shares of the mean: of a transformed response they would depend on its "
            "unit."
            if model.transform
            else "Effects are not shown as shares of the mean: the mean may be zero."
            if any(not row.term.covariates for row in model.effects_of_interest)
            else ""
        )
    smallest = min((share.standard_error for share in shares if share.standard_error > 0), default=0.0)
    names = [name_share(share) for share in shares]
    room = min(56, max(len("Effect"), *(len(name) for name in names)))
    lines = [
        "Half-changes as shares of the mean, with one standard error:",
        "(half the change from low to high level; of more levels, each one's distance from their mean)",
        f"  {'Effect'.ljust(room)}{'Share':>13}{'Std. error':>13}{'p (Holm)':>12}",
    ]
    shown = ""
    for name, share in zip(names, shares, strict=True):
        adjusted = tests[share.term].p_holm
        tail = "" if share.term == shown else "-" if adjusted is None else _format_tail(adjusted)
        shown = share.term
        head = [f"  {name}"] if len(name) > room else []
        label = "" if head else name
        lines += head
        lines.append(
            f"  {label.ljust(room)}{_spell_plainly(share.percent, smallest):>12}%"
            f"{_spell_plainly(share.standard_error, smallest):>12}%"
            f"{tail:>12}".rstrip()
        )
    count = len(tests)
    if count > 1:
        lines += wrap(
            f"p (Holm) is adjusted for the {count} terms that are tested at once; the p-values in the table "
            "above are of each term by itself.",
            "  ",
        )
    return lines


def format_holm(model: LinearModel) -> list[str]:
    """P-values adjusted for the number of terms, the smallest first; nothing where there is one term."""
    tested = [(row.p_holm, row.term.name) for row in model.effects_of_interest if row.p_holm is not None]
    if len(tested) < 2:
        return []
    shown = sorted(tested)[:_MOST_ADJUSTED]
    named = ", ".join(f"{name} {_format_tail(p)}" for p, name in shown)
    rest = f" and {len(tested) - len(shown)} more" if len(tested) > len(shown) else ""
    return wrap(f"p adjusted for the {len(tested)} terms (Holm): {named}{rest}.", "  ")


def format_square(value: float) -> str:
    """A sum of squares or a mean square: nine figures, six below one; beyond these six and an exponent."""
    if value == 0:
        return "0"
    if not 1e-3 <= value < 1e9:
        return f"{value:.6g}".replace("-", "−")
    power = math.floor(math.log10(value))
    return format_fixed(value, 5 - power if power < 0 else min(6, 8 - power))


def format_blocks(gain: BlockGain | None, alpha: float, unit: str = "") -> list[str]:
    """What the blocks gained, in words; `unit` is that of squares."""
    unit = f" {unit}" if unit else ""
    if gain is None:
        return []
    names = " and ".join(gain.blocks)
    if gain.efficiency is None:
        return wrap(f"Blocks ({names}) are no effects of interest; there is no error to judge them by.", "  ")
    found = (
        f"Blocks ({names}) are no effects of interest: sum of squares {format_square(gain.sum_sq)}{unit} on "
        f"{gain.df} df after all other terms (p {_say(gain.p)})."
    )
    if gain.efficiency > 1.005:
        found += (
            f" Blocking gained precision: without it the error mean square would be "
            f"{format_square(gain.error_ms_without)}{unit}, and the same precision would take "
            f"{gain.efficiency:.3g} times as many trials."
        )
    elif gain.p is not None and gain.p >= alpha:
        found += " Blocking gained nothing here, and cost little: these conditions hardly differ."
    return wrap(found, "  ")


def _say(p: float | None) -> str:
    text = format_p(p)
    return text if text.startswith(("<", "no")) else f"= {text}"


def format_checks(checks: AssumptionChecks) -> list[str]:
    """One line an assumption: how it fares, in words, and by which test."""
    if not checks.checks:
        return []
    lines = ["Assumptions of the linear model:"]
    for check in checks.checks:
        sign = _SIGNS[check.state]
        text = f"  {sign:<9}{check.assumption}: {check.words}"
        if check.advice:
            text += f". {check.advice.rstrip('.')}"
        lines += wrap(f"{text} ({check.method}: p {_say(check.p)}).", " " * 11)
    if checks.shape is not None:
        lines += wrap(
            f"  {'':<9}residuals: skewness {checks.shape.skewness:.3g}, excess kurtosis "
            f"{checks.shape.excess_kurtosis:.3g}, correlation with normal scores "
            f"{checks.shape.normal_correlation:.4f}.",
            " " * 11,
        )
    if checks.influential is not None:
        sign = _SIGNS["failed" if checks.influential.influential else "held"]
        lines += wrap(f"  {sign:<9}single observations: {checks.influential.words}.", " " * 11)
    return [*lines, *wrap(f"=> {checks.advice}", "   ")] if checks.advice else lines


def format_quantiles(
    model: LinearModel, quantiles: QuantileModel, checks: AssumptionChecks, warnings: Sequence[str]
) -> list[str]:
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
    room = max(len("Effect on"), *(len(label) for label in labels))
    widths = [max(len(row[at]) for row in [heads, *cells]) + 2 for at in range(len(heads))]
    lines = [
        f"Effects on the mean and on quantiles, with {name_confidence(quantiles.confidence)} intervals:",
        "(coefficients: half the change from low to high level; a covariate's slope)",
        "  " + "Effect on".ljust(room) + "".join(h.rjust(w) for h, w in zip(heads, widths, strict=True)),
    ]
    left_out = len(model.coefficients) + 1 - len(names) - sum(c.term in blocks for c in model.coefficients)
    for label, row in zip(labels, cells, strict=True):
        lines.append("  " + label.ljust(room) + "".join(c.rjust(w) for c, w in zip(row, widths, strict=True)))
    if left_out:
        lines += wrap(
            f"Left out: {left_out} coefficients of terms that neither mean nor quantiles tell from zero "
            f"(Holm p < {model.alpha:g}); --json has them.",
            "  ",
        )
    trust = {
        "neither": checks.advice,
        "quantiles": "Trust the columns of the quantiles; the mean's intervals and p-values are approximate.",
        "both": "Both are sound: the mean is for totals, the quantiles for the usual trial and slow ones.",
        "means": "The mean's column stands; the quantiles show where in the distribution the effects lie.",
    }[checks.trust]
    lines += wrap(f"=> {trust}", "   ")
    lines += wrap(f"Method of the quantiles: {quantiles.method}.", "  ")
    for warning in warnings:
        if warning not in model.warnings:
            lines += wrap(f"Warning: {warning.rstrip('.')}.", "  ")
    return lines


def _list_terms_told(model: LinearModel, quantiles: QuantileModel) -> set[str]:
    """Terms that the mean or some quantile tells from zero, adjusted for their number."""
    told = {row.term.name for row in model.terms if row.p_holm is not None and row.p_holm < model.alpha}
    for fit in quantiles.fits:
        told |= {
            item.term.name
            for item in fit.terms
            if item.p_adjusted is not None and item.p_adjusted < model.alpha
        }
    return told


def _format_interval(value: Interval | None) -> str:
    if value is None:
        return "-"
    error = (value.high - value.low) / 2
    estimate, low, high = (_spell_plainly(item, error) for item in (value.estimate, value.low, value.high))
    return f"{estimate} [{low}, {high}]"


def _spell_plainly(value: float, error: float) -> str:
    """A number with two figures of an error, as short as a column of a table."""
    if 0 < error < _SMALLEST_PLAIN:
        return f"{value:.{count_mantissa_decimals(value, error)}e}".replace("-", "−")
    return format_fixed(value, count_decimals(error))


def _format_tail(p: float) -> str:
    return "<1e-300" if p < 1e-300 else f"{p:.3g}"


def format_reduced(model: LinearModel, lay_out_square: Sequence[str]) -> list[str]:
    """The reduced table of thesis 2015, Table 4.2: mean squares and p-values, `lay_out_square` the former."""
    names = [f"{row.term.name} (block)" if row.block else row.term.name for row in model.terms]
    room = max(len("Residuals"), *(len(name) for name in names))
    lines = [f"{'Factor'.ljust(room)}{'Mean Sq.':>14}{'p-value':>12}", "-" * (room + 26)]
    for name, square, row in zip(names, lay_out_square, model.terms, strict=False):
        tail = "-" if row.p is None else _format_tail(row.p)
        lines.append(f"{name.ljust(room)}{square:>14}{tail:>12}")
    lines.append(f"{'Residuals'.ljust(room)}{lay_out_square[-1]:>14}")
    return [
        *lines,
        *wrap(
            "All terms stay in the model: pooling those with a large p into the error would make the p of "
            "others too small.",
            "  ",
        ),
    ]
