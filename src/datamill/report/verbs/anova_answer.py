"""What a linear model says, in a sentence or two: which factors move the mean, and by how much."""

from __future__ import annotations

import math

from datamill.analysis.model_data.observations import Observations
from datamill.analysis.quantile.records import QuantileModel
from datamill.analysis.records import AssumptionChecks, Interval, LinearModel, TermRow
from datamill.report.numbers import choose_scale, format_count, format_interval, format_p
from datamill.report.term_names import spell_linear_terms
from datamill.report.verbs.quantile_answer import state_quantiles

#: What a difference of logarithms is a power of.
_BASES = {"log": math.e, "log2": 2.0, "log10": 10.0}

#: Factors that the answer names.
_MOST_NAMED = 3
#: Shares, in percent, from which on they need no decimals, and from which on they are told as a multiple.
_PLAIN_SHARE, _LARGEST_SHARE = 99.5, 1000.0
#: Factors beyond e to this are no help.
_LARGEST_EXPONENT = 100.0


def state_answer(
    observations: Observations,
    model: LinearModel,
    checks: AssumptionChecks | None,
    quantiles: QuantileModel | None,
) -> tuple[str, ...]:
    """Say what moves the response: quantiles first where the checks say that means are not to be trusted."""
    model = spell_linear_terms(model)
    means = state_effects(model, observations.response, observations.unit)
    if checks is None or checks.trust not in ("quantiles", "neither"):
        return means
    if checks.trust == "quantiles" and quantiles is not None:
        said = state_quantiles(quantiles, observations.response, observations.unit)
        return (*said, f"The linear model, whose assumptions fail here, says: {' '.join(means)}")
    return (f"A hint only, since assumptions fail: {means[0]}", *means[1:])


def state_effects(model: LinearModel, response: str, unit: str) -> tuple[str, ...]:
    """Say in plain sentences which effects on the mean were detected, the largest first.

    Detected means: p adjusted by Holm over the terms of interest is below the model's alpha.
    """
    model = spell_linear_terms(model)
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
    main = sorted((row for row in found if row.term.order == 1), key=lambda row: -row.mean_sq * row.term.df)
    sentences = [_state_term(model, row, response, unit) for row in main[:_MOST_NAMED]]
    if more := [row.term.name for row in main[_MOST_NAMED:]]:
        sentences.append(f"Also detected: {', '.join(more)}.")
    if inner := [row.term.name for row in found if row.term.order > 1]:
        be = "Effects depend on each other" if main else "Only together were effects detected"
        sentences.append(f"{be}: {', '.join(inner)}.")
    return tuple(sentences)


def _state_term(model: LinearModel, row: TermRow, response: str, unit: str) -> str:
    name = row.term.name
    if not _is_seen_after_all(model, row):
        return _state_shared(row, response, model.squares)
    if row.term.df == 1:
        value = next(item.value for item in model.coefficients if item.term == name)
        if row.term.covariates:
            change = _format_change(value, unit, model.confidence)
            return f"A unit more of {name} changes the mean {response} by {change}{_ratio(model, value)}."
        low, high = model.factors[row.term.factors[0]].levels
        doubled = Interval(2 * value.estimate, 2 * value.low, 2 * value.high)
        change = _format_change(doubled, unit, model.confidence)
        size = _ratio(model, doubled) or _share(model, doubled)
        return f"From {low} to {high}, {name} changes the mean {response} by {change}{size}."
    effects = sorted(row.effects, key=lambda effect: effect.value.estimate)
    parts = [
        f"{effect.levels[0]} {_format_change(effect.value, unit, model.confidence)}"
        for effect in (effects[0], effects[-1])
    ]
    return f"{name} changes the mean {response}, from the mean of its levels: {', '.join(parts)}."


def _is_seen_after_all(model: LinearModel, row: TermRow) -> bool:
    """Whether a detected term's estimates, which are adjusted for all others, tell it from zero as well.

    Sums of squares of types I and II also count what a term shares with others that overlap with it.
    """
    if model.squares == "III":
        return True
    own = [item.value for item in model.coefficients if item.term == row.term.name]
    return any(value.low > 0 or value.high < 0 for value in (*own, *(item.value for item in row.effects)))


def _state_shared(row: TermRow, response: str, squares: str) -> str:
    beyond = "terms after it" if squares == "I" else "interactions with it"
    return (
        f"{row.term.name} is detected by its sum of squares of type {squares} (p = {format_p(row.p_holm)}), "
        f"which is not adjusted for {beyond}; after all other terms no effect on the mean {response} is seen."
    )


def _format_change(change: Interval, unit: str, confidence: float) -> str:
    # By the size of the change, not of the mean: a large offset must not round it to nothing.
    largest = max(abs(change.low), abs(change.high))
    return format_interval(change, choose_scale(unit, largest), confidence, signed=True)


def _ratio(model: LinearModel, change: Interval) -> str:
    """A difference of logarithms as the factor it stands for."""
    base = _BASES.get(model.transform)
    if base is None:
        return ""
    ends = [number * math.log(base) for number in (change.estimate, change.low, change.high)]
    if max(abs(end) for end in ends) > _LARGEST_EXPONENT:
        return ""
    estimate, low, high = (math.exp(end) for end in ends)
    written = format_interval(Interval(estimate, low, high), choose_scale("", 0.0), model.confidence)
    return f", which is a factor of {written}"


def _share(model: LinearModel, change: Interval) -> str:
    if model.transform or model.mean.low <= 0 <= model.mean.high:
        return ""
    share = abs(100 * change.estimate / model.mean.estimate)
    if share >= _LARGEST_SHARE:
        return f", {share / 100:,.0f} times the mean"
    return f", {share:,.0f}% of the mean" if share >= _PLAIN_SHARE else f", {share:.2g}% of the mean"
