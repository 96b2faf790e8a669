"""What a linear model says, in a sentence or two: which factors move the mean, and by how much."""

from __future__ import annotations

from datamill.analysis.records import Interval, LinearModel, TermRow
from datamill.report.numbers import Scale, choose_scale, format_count, format_interval

#: Factors that the answer names.
_MOST_NAMED = 3


def state_effects(model: LinearModel, response: str, unit: str) -> tuple[str, ...]:
    """Say in plain sentences which effects on the mean were detected, the largest first.

    Detected means: p adjusted by Holm over the terms of interest is below the model's alpha.
    """
    terms = model.effects_of_interest
    if all(row.p_holm is None for row in terms):
        return (
            f"Like observations of {response} did not differ, so that effects are as measured, untested.",
        )
    found = [row for row in terms if row.p_holm is not None and row.p_holm < model.alpha]
    if not found:
        return (
            f"No effect on the mean {response} was detected (alpha = {model.alpha:g}, "
            f"n = {format_count(model.n)}).",
        )
    scale = choose_scale(unit, abs(model.mean.estimate))
    main = sorted((row for row in found if row.term.order == 1), key=lambda row: -row.mean_sq * row.term.df)
    sentences = [_state_term(model, row, response, scale) for row in main[:_MOST_NAMED]]
    if more := [row.term.name for row in main[_MOST_NAMED:]]:
        sentences.append(f"Also detected: {', '.join(more)}.")
    if inner := [row.term.name for row in found if row.term.order > 1]:
        be = "Effects depend on each other" if main else "Only together were effects detected"
        sentences.append(f"{be}: {', '.join(inner)}.")
    return tuple(sentences)


def _state_term(model: LinearModel, row: TermRow, response: str, scale: Scale) -> str:
    name = row.term.name
    level = model.confidence
    if row.term.df == 1:
        value = next(item.value for item in model.coefficients if item.term == name)
        if row.term.covariates:
            change = format_interval(value, scale, level, signed=True)
            return f"A unit more of {name} changes the mean {response} by {change}."
        low, high = model.factors[row.term.factors[0]].levels
        doubled = Interval(2 * value.estimate, 2 * value.low, 2 * value.high)
        change = format_interval(doubled, scale, level, signed=True)
        return (
            f"From {low} to {high}, {name} changes the mean {response} by {change}{_share(model, doubled)}."
        )
    effects = sorted(row.effects, key=lambda effect: effect.value.estimate)
    parts = [
        f"{effect.levels[0]} {format_interval(effect.value, scale, level, signed=True)}"
        for effect in (effects[0], effects[-1])
    ]
    return f"{name} changes the mean {response}, from the mean of its levels: {', '.join(parts)}."


def _share(model: LinearModel, change: Interval) -> str:
    if model.mean.low <= 0 <= model.mean.high:
        return ""
    share = 100 * change.estimate / abs(model.mean.estimate)
    return f", {abs(share):.2g}% of the mean"
