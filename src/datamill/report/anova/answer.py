"""What a linear model says, in a sentence or two: which factors move the mean, and by how much."""

from __future__ import annotations

import math

from datamill.analysis.assumptions.assumption_checks import AssumptionChecks
from datamill.analysis.interval import Interval
from datamill.analysis.levels.level_changes import LevelChange, LevelChanges
from datamill.analysis.linear.linear_model import LinearModel, TermRow
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.quantile.quantile_model import QuantileModel
from datamill.experiment.messages.numbers import (
    format_count,
    format_figures,
    format_given,
    format_p,
    format_signed,
)
from datamill.report.changes.by_factor import Wording, list_level_means, phrase_asked_change, phrase_change
from datamill.report.changes.gaps import is_unit_of_time
from datamill.report.quantiles.answer import state_quantiles
from datamill.report.words.scales import choose_scale, format_interval
from datamill.report.words.term_names import spell_linear_terms

#: What a difference of logarithms is a power of.
_BASES = {"log": math.e, "log2": 2.0, "log10": 10.0}

#: Factors that the answer names.
_MOST_NAMED = 3
#: Packages whose changes the answer tells.
_MOST_TOLD = 2
#: Shares, in percent, from which on they are told as a multiple.
_LARGEST_SHARE = 1000.0


def state_answer(
    observations: Observations,
    model: LinearModel,
    checks: AssumptionChecks | None,
    quantiles: QuantileModel | None,
    changes: LevelChanges | None = None,
) -> tuple[str, ...]:
    """Say what moves the response: changes of its mean between levels, then what else the data show.

    `changes` are those of the cells; without them, as with covariates, changes are the model's. Where these
    rest on assumptions that fail, quantiles come first.
    """
    model = spell_linear_terms(model)
    means = state_effects(model, observations.response, observations.unit, changes)
    if changes is not None and changes.changes and checks is not None and checks.trust == "quantiles":
        # Means with each level's own variance need no equal spread, and are the figure of all other verbs.
        return (*means, *_add_quantiles(observations, quantiles))
    if checks is None or checks.trust not in ("quantiles", "neither"):
        return means
    if checks.trust == "quantiles" and quantiles is not None:
        said = _add_quantiles(observations, quantiles)
        return (*said, f"The linear model, whose assumptions fail here, says: {' '.join(means)}")
    return (f"A hint only, since assumptions fail: {means[0]}", *means[1:])


def _add_quantiles(observations: Observations, quantiles: QuantileModel | None) -> tuple[str, ...]:
    return () if quantiles is None else state_quantiles(quantiles, observations.response, observations.unit)


def state_effects(
    model: LinearModel, response: str, unit: str, changes: LevelChanges | None = None
) -> tuple[str, ...]:
    """Say in plain sentences which effects on the mean were detected, the largest first.

    Detected means: p adjusted by Holm over the terms of interest is below the model's alpha.
    """
    model = spell_linear_terms(model)
    terms = model.effects_of_interest
    if all(row.p_holm is None for row in terms):
        return (
            f"Like observations of {response} did not differ, so that effects are as measured, untested.",
        )
    found = [row for row in terms if model.detects(row)]
    if not found:
        return (
            f"No effect on the mean {response} was detected (alpha = {format_given(model.alpha)}, "
            f"n = {format_count(model.n)}).",
        )
    main = sorted((row for row in found if row.term.order == 1), key=lambda row: -row.mean_sq * row.term.df)
    sentences = []
    for row in main[:_MOST_NAMED]:
        own = _list_own_changes(row, model, changes)
        if own and changes is not None and _is_seen_after_all(model, row):
            said = _state_changes(own, changes, word_changes(changes, model, response, unit))
            sentences += said or [_state_term(model, row, response, unit)]
        else:
            sentences.append(_state_term(model, row, response, unit))
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
    if row.term.covariates:
        value = next(item.value for item in model.coefficients if item.term == name)
        change = _format_change(value, unit, model.confidence)
        return f"A unit more of {name} changes the mean {response} by {change}{_ratio(model, value)}."
    assert row.gap is not None
    low, high, value = row.gap.low, row.gap.high, row.gap.value
    among = f" (the largest difference of {row.term.df + 1} levels)" if row.term.df > 1 else ""
    if not among and low != model.factors[row.term.factors[0]].levels[0]:
        low, high, value = high, low, value.negated()
    change = _format_change(value, unit, model.confidence)
    size = _ratio(model, value) or _share(model, row, low, value)
    return f"From {low} to {high}, {name} changes the mean {response} by {change}{size}{among}."


def word_changes(changes: LevelChanges, model: LinearModel, response: str, unit: str) -> Wording:
    """Return how changes of a response are put into words: in the scale of the middle one of the means."""
    sizes = sorted(abs(mean.value.estimate) for mean in changes.means)
    scale = choose_scale(unit, sizes[len(sizes) // 2] if sizes else 0.0)
    return Wording(
        response, scale, model.confidence, fast=changes.direction == "lower" and is_unit_of_time(unit)
    )


def choose_largest_change(changes: LevelChanges, model: LinearModel) -> LevelChange:
    """Return the largest change of the factor that the answer names first."""
    found = [row for row in model.effects_of_interest if model.detects(row)]
    main = sorted((row for row in found if row.term.order == 1), key=lambda row: -row.mean_sq * row.term.df)
    for row in main:
        if own := _list_own_changes(row, model, changes):
            return next((item for item in own if item.pair.verdict != "uncertain"), own[0])
    return changes.rank()[0]


def _list_own_changes(row: TermRow, model: LinearModel, changes: LevelChanges | None) -> list[LevelChange]:
    """Changes of a main effect's factor, the largest first."""
    if changes is None or row.term.covariates:
        return []
    return list(changes.rank(model.factors[row.term.factors[0]].name))


def _state_changes(own: list[LevelChange], changes: LevelChanges, wording: Wording) -> list[str]:
    """What a factor changes: of one group with its means, else in the two packages that feel it most.

    Nothing where no package shows it by itself.
    """
    first = own[0]
    if len(own) == 1:
        return [phrase_asked_change(first, wording), *list_level_means(first, changes.means, wording)]
    seen = [item for item in own if item.pair.verdict != "uncertain"]
    if not seen:
        return []
    told = [f"{phrase_change(item, wording)} for {item.group}" for item in seen[:_MOST_TOLD]]
    if unseen := [item.group for item in own if item.pair.verdict == "uncertain"]:
        more = len(unseen) - _MOST_NAMED
        names = ", ".join(unseen[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        told.append(f"not told apart for {names}")
    return [f"{first.factor} matters: {wording.response} is {'; '.join(told)}."]


def _is_seen_after_all(model: LinearModel, row: TermRow) -> bool:
    """Whether a detected term's estimates, which are adjusted for all others, tell it from zero as well.

    Sums of squares of types I and II also count what a term shares with others that overlap with it.
    """
    if model.squares == "III":
        return True
    own = [item.value for item in model.coefficients if item.term == row.term.name]
    return any(value.excludes_zero for value in (*own, *(item.value for item in row.effects)))


def _state_shared(row: TermRow, response: str, squares: str) -> str:
    beyond = "terms after it" if squares == "I" else "interactions with it"
    return (
        f"{row.term.name} was detected by its sum of squares of type {squares} (p = {format_p(row.p_holm)}), "
        f"which is not adjusted for {beyond}; after all other terms no effect on the mean {response} was "
        "detected."
    )


def _format_change(change: Interval, unit: str, confidence: float) -> str:
    # By the size of the change, not of the mean: a large offset must not round it to nothing.
    largest = max(abs(change.low), abs(change.high))
    return format_interval(change, choose_scale(unit, largest), confidence, signed=True)


def _ratio(model: LinearModel, change: Interval) -> str:
    """A difference of logarithms as the factor it stands for."""
    base = _BASES.get(model.transform)
    ratio = None if base is None else change.raised(base)
    if ratio is None:
        return ""
    return f", which is a factor of {format_interval(ratio, choose_scale('', 0.0), model.confidence)}"


def _share(model: LinearModel, row: TermRow, low: str, change: Interval) -> str:
    """A change in percent of the mean at the level that it starts from."""
    if model.transform or model.mean.low <= 0 <= model.mean.high:
        return ""
    base = model.mean.estimate + next(e.value.estimate for e in row.effects if e.levels == (low,))
    if base <= 0:
        return ""
    share = 100 * change.estimate / base
    if abs(share) >= _LARGEST_SHARE:
        return f", {format_signed(share / 100, 0)} times the mean at {low}"
    return f", {format_figures(share, signed=True)}% of the mean at {low}"
