"""The analysis of variance as plain text, laid out as thesis Table 1.3."""

from __future__ import annotations

import textwrap

from datamill.analysis.observations import Observations
from datamill.analysis.records import AssumptionChecks, Interval, LinearModel
from datamill.report.numbers import count_decimals, name_confidence

_WIDTH = 100
_NUMBER = 13
_COLUMNS = (_NUMBER, _NUMBER, _NUMBER, 13, 6, 11, 10)
_NAME = _WIDTH - sum(_COLUMNS)


def format_anova(observations: Observations, model: LinearModel, checks: AssumptionChecks | None) -> str:
    """Lay out a model for a terminal of 100 columns: estimates, sums of squares, tests, equation, warnings.

    Terms with one degree of freedom show their coefficient (half the change from the low to the high
    level); factors with more levels show each level's deviation from the grand mean on lines of its own.
    """
    level = name_confidence(model.confidence)
    unit = f" ({observations.unit})" if observations.unit else ""
    lines = [f"Analysis of variance of {observations.response}{unit}", ""]
    lines += _line("Factor", f"Low {level}", "Estimate", f"High {level}", "Sum Sq.", "df", "F", "p-value")
    lines.append("-" * _WIDTH)
    decimals = _choose_decimals(model)
    lines += _line("(mean)", *_format_estimate(model.mean, decimals))
    single = {item.term: item.value for item in model.coefficients if item.name == item.term}
    for row in model.terms:
        value = single.get(row.term.name)
        estimate = ("", "", "") if value is None else _format_estimate(value, decimals)
        lines += _line(
            row.term.name,
            *estimate,
            _format_square(row.sum_sq),
            str(row.term.df),
            "-" if row.f is None else f"{row.f:.6g}",
            _format_tail(row.p),
        )
        if value is None:
            for effect in row.effects:
                lines += _line(f"  {effect.levels[0]}", *_format_estimate(effect.value, decimals))
    lines += _line("Error", "", "", "", _format_square(model.error_ss), str(model.error_df))
    lines += _line("Total", "", "", "", _format_square(model.total_ss), str(model.n - 1))
    lines.append("")
    lines += _format_equation(observations.response, model)
    lines.append(f"R^2 = {model.r_squared:.6f}   n = {model.n}   error mean square = {model.error_ms:.6g}")
    lines += _wrap(f"Method: {model.method}.", "  ")
    coding = "; ".join(
        f"{factor.name} {factor.levels[0]} / {factor.levels[1]}"
        for factor in model.factors
        if len(factor.levels) == 2
    )
    if coding:
        lines += _wrap(f"Low / high level: {coding}.", "  ")
    if observations.excluded:
        lines.append(f"Excluded: {observations.excluded} invalid rows of this response.")
    if observations.averaged:
        lines += _wrap(
            f"{observations.averaged} trials have several measurements, averaged: they are not replicates.",
            "  ",
        )
    for warning in (*model.warnings, *(checks.warnings if checks is not None else ())):
        lines += _wrap(f"Warning: {warning}.", "  ")
    return "\n".join(lines)


def _line(name: str, *cells: str) -> list[str]:
    """One line of the table; a name too long for its column stands on a line of its own."""
    numbers = "".join(cell.rjust(width) for cell, width in zip(cells, _COLUMNS, strict=False))
    if len(name) <= _NAME:
        return [(name.ljust(_NAME) + numbers).rstrip()]
    return [name, (" " * _NAME + numbers).rstrip()] if numbers.strip() else [name]


def _choose_decimals(model: LinearModel) -> int | None:
    """Decimals for all estimates: eight figures of the smallest error or what the columns hold.

    None when fewer than two figures of it would fit: exponents are needed.
    """
    shown = [model.mean, *(item.value for item in model.coefficients)]
    shown += [effect.value for row in model.terms for effect in row.effects]
    smallest = min(item.high - item.low for item in shown) / 2
    widest = max(len(f"{bound:.0f}") for item in shown for bound in (item.low, item.estimate, item.high))
    room = max(0, _NUMBER - 2 - widest)
    if smallest > 0 and room < count_decimals(smallest, digits=2):
        return None
    return min(room, count_decimals(smallest, digits=8) if smallest > 0 else 7)


def _format_estimate(value: Interval, decimals: int | None) -> tuple[str, ...]:
    form = ".5e" if decimals is None else f".{decimals}f"
    return tuple(f"{number:{form}}" for number in (value.low, value.estimate, value.high))


def _format_square(value: float) -> str:
    text = f"{value:.6f}" if 1e-3 <= value < 1e5 else f"{value:.6g}" if value else "0"
    return text if len(text) <= 12 else f"{value:.5e}"


def _format_tail(p: float | None) -> str:
    if p is None:
        return "-"
    return "<1e-300" if p < 1e-300 else f"{p:.3g}"


def _format_equation(response: str, model: LinearModel) -> list[str]:
    """Equation (1.2): the mean and the terms with p below alpha, coefficients of the full model."""
    kept = {row.term.name for row in model.terms if row.p is not None and row.p < model.alpha}
    smallest = min(item.standard_error for item in model.coefficients)
    decimals = count_decimals(smallest, digits=3) if smallest > 0 else 6
    parts = [f"{response} = {model.mean.estimate:.{decimals}f}"]
    single = {item.term: item.value.estimate for item in model.coefficients if item.name == item.term}
    for row in model.terms:
        if row.term.name not in kept:
            continue
        if row.term.name in single:
            value = single[row.term.name]
            parts.append(f"{'-' if value < 0 else '+'} {abs(value):.{decimals}f} {row.term.name}")
        else:
            parts.append(f"+ [{row.term.name}]")
    note = f"(terms with p < {model.alpha:g})"
    if any(part.startswith("+ [") for part in parts):
        note = f"(terms with p < {model.alpha:g}; [factor] stands for the effect of its level)"
    return [*_wrap(" ".join(parts), "    "), note]


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)
