"""What a quantile model says, in a sentence or two: which factor matters where, and towards the tail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from datamill.analysis.interval import Interval
from datamill.analysis.quantile.quantile_model import (
    QuantileCoefficient,
    QuantileFit,
    QuantileModel,
    QuantileTerm,
)
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_figures,
    format_given,
    format_level,
    format_p,
    format_signed,
    name_quantile,
)
from datamill.report.words.scales import Scale, choose_effect_scale, format_interval
from datamill.report.words.term_names import spell_quantile_terms

#: Factors that the answer names.
_MOST_NAMED = 3
#: An effect has grown when it is this many times the other one.
_GROWN = 1.5
#: A quantile this far from the median speaks for a tail.
_TAIL = 0.25
#: Cosine between the effects of several levels at two quantiles from which on these differ by size alone.
_ALIKE = 0.5


def choose_model_scale(model: QuantileModel, unit: str) -> Scale:
    """Scale for everything that is said about a model: that of its highest quantile."""
    middle, *effects = (row.value.estimate for row in model.fits[-1].coefficients)
    return choose_effect_scale(unit, middle, effects)


def bound_p(model: QuantileModel, p: float | None) -> tuple[float | None, bool]:
    """The p-value to be told, and whether it is a bound: draws cannot show less than 2 / (R + 1)."""
    if p is None or model.replicates is None:
        return p, False
    least = 2.0 / (model.replicates + 1)
    return max(p, least), p <= least


def format_tail(model: QuantileModel, p: float | None) -> str:
    """A p-value of a model; of a number of draws no less than they can show."""
    told, is_bound = bound_p(model, p)
    return f"≤ {format_p(told)}" if is_bound else format_p(told)


def choose_headline(model: QuantileModel) -> QuantileFit | None:
    """The last quantile that the observations suffice for; None where they suffice for none of them.

    Where they do not suffice for the last one asked for, and the last that they suffice for is no tail
    either, it is the one nearest to the median.
    """
    sound = [fit for fit in model.fits if not fit.extreme]
    if not sound:
        return None
    if len(sound) < len(model.fits) and abs(sound[-1].quantile - 0.5) < _TAIL:
        return _find_middle(sound)
    return sound[-1]


def _find_middle(fits: Sequence[QuantileFit]) -> QuantileFit:
    """The fit nearest to the median, of two equally near the later one."""
    return min(reversed(fits), key=lambda fit: round(abs(fit.quantile - 0.5), 9))


def state_quantiles(model: QuantileModel, response: str, unit: str) -> tuple[str, ...]:
    """Say in plain sentences which effects were detected at the headline's quantile, and how they grew."""
    model = spell_quantile_terms(model)
    scale = choose_model_scale(model, unit)
    last = choose_headline(model)
    if last is None:
        return (_state_too_few(model, response, scale),)
    sound = tuple(fit for fit in model.fits if not fit.extreme)
    whole = len(sound) == len(model.fits)
    # What is said is about the last one.
    model = replace(model, fits=(*(fit for fit in sound if fit is not last), last))
    found = [term for term in last.terms if model.detects(last, term)]
    untested = _state_untested(model, response, scale)
    if not found:
        tested = any(term.p_adjusted is not None for fit in model.fits for term in fit.terms)
        return (*([_state_nothing(model, response, whole=whole)] if tested else []), *untested)
    main = [term for term in found if term.term.order == 1]
    ranked = sorted(main, key=lambda term: -_size(last, term))
    sentences = [_state_term(model, term, response, scale) for term in ranked[:_MOST_NAMED]]
    more = [term.term.name for term in ranked[_MOST_NAMED:]]
    inner = [term.term.name for term in found if term.term.order > 1]
    if more:
        sentences.append(f"Also detected there: {_list_some(more)}.")
    if inner:
        be = "depend on each other" if main else "were detected"
        sentences.append(f"At the {name_quantile(last.quantile)} effects {be}: {_list_some(inner)}.")
    return (*sentences, *untested)


def _state_too_few(model: QuantileModel, response: str, scale: Scale) -> str:
    """Say that the observations are too few for any quantile asked for, with what was measured."""
    nearest = _find_middle(model.fits)
    names = [term.term.name for term in nearest.terms if term.term.name not in model.blocks]
    where = f"the {name_quantile(nearest.quantile)} of {response}"
    has = model.smallest_cell if model.saturated else model.n / (1 + sum(term.df for term in model.terms))
    per = "each combination of levels" if model.saturated else "each coefficient"
    measured = _list_measured(nearest, nearest.terms, scale)
    verb = "changes" if len(names) == 1 else "change"
    return (
        f"These data do not tell whether {_list_some(names)} {verb} {where}: that takes about "
        f"{nearest.needed} observations for {per}, and there are "
        f"{math.floor(has)}{f' (change as measured: {_list_some(measured)})' if measured else ''}."
    )


def _state_untested(model: QuantileModel, response: str, scale: Scale) -> tuple[str, ...]:
    """Say which terms have no test at the highest quantile, with their effects as measured."""
    last = model.fits[-1]
    untested = [term for term in last.terms if term.p is None and term.term.name not in model.blocks]
    if not untested:
        return ()
    measured = _list_measured(last, untested, scale)
    names = _list_some([term.term.name for term in untested])
    text = (
        f"Whether {names} changes the {name_quantile(last.quantile)} of {response} was not tested: these "
        "data give no errors by this method"
        if len(untested) == 1
        else f"At the {name_quantile(last.quantile)} of {response} these were not tested, as the data give "
        f"no errors by this method: {names}"
    )
    return (f"{text}{f' (change as measured: {_list_some(measured)})' if measured else ''}.",)


def _list_measured(fit: QuantileFit, terms: Sequence[QuantileTerm], scale: Scale) -> list[str]:
    """Changes between two levels as measured, each with its factor."""
    measured = []
    for term in terms:
        rows = _rows_of(fit, term)
        if len(rows) == 1 and not term.term.covariates:
            change = 2 * rows[0].value.estimate * scale.factor
            half = abs(change) / 2
            shown = format_signed(change, count_decimals(half, digits=3)) if change else "0"
            measured.append(f"{term.term.name} {shown}{f' {scale.unit}' if scale.unit else ''}")
    return measured


def _state_nothing(model: QuantileModel, response: str, *, whole: bool) -> str:
    """Say that nothing was detected; `whole` if the observations suffice for all quantiles asked for."""
    last = model.fits[-1]
    # Looked for at so many quantiles, chance finds something at one of them more often.
    other = [
        f"{term.term.name} (at {format_given(fit.quantile)})"
        for fit in model.fits[:-1]
        for term in fit.terms
        if model.passes_among_all(term)
    ]
    if not other:
        # `anova` asks for quantiles of its own, and may tell of one alone.
        which = "any of the quantiles asked for"
        if len(model.fits) == 1:
            which = f"the {name_quantile(last.quantile)}"
        elif not whole:
            ends = sorted(fit.quantile for fit in model.fits)
            which = (
                f"any quantile from {format_given(ends[0])} to {format_given(ends[-1])}, which these "
                "data suffice for"
            )
        return f"No effect on {response} was detected at {which}."
    return (
        f"No effect on {response} was detected at the {name_quantile(last.quantile)}; elsewhere, adjusted "
        f"for {len(model.fits)} quantiles: {_list_some(other)}."
    )


def _state_term(model: QuantileModel, term: QuantileTerm, response: str, scale: Scale) -> str:
    last, name = model.fits[-1], term.term.name
    rows = _rows_of(last, term)
    where = f"the {name_quantile(last.quantile)}"
    if len(rows) > 1:
        gap = term.gap
        if gap is None:
            return f"{name} changes {where} of {response}{_compare(model, term)}."
        count = len(term.levels)
        return (
            f"From {gap.low} to {gap.high}, {name} changes {where} of {response} by "
            f"{_spell_change(gap.value, scale, model)}, the most between two of its {count} levels"
            f"{_compare(model, term)}."
        )
    row = rows[0]
    if term.term.covariates:
        change = _spell_change(row.value, scale, model)
        return f"A unit more of {name} changes {where} of {response} by {change}{_compare(model, term)}."
    factor = model.factors[term.term.factors[0]]
    change = _spell_change(row.value.scaled(2), scale, model)
    return (
        f"From {factor.levels[0]} to {factor.levels[1]}, {name} changes {where} of {response} by {change}"
        f"{_compare(model, term)}."
    )


def _spell_change(value: Interval, scale: Scale, model: QuantileModel) -> str:
    if math.isfinite(value.low) and math.isfinite(value.high):
        return format_interval(value, scale, model.confidence, signed=True)
    decimals = count_decimals(abs(value.estimate) * scale.factor, digits=3)
    shown = format_signed(value.estimate * scale.factor, decimals)
    unit = f" {scale.unit}" if scale.unit else ""
    bounds = [
        f"{word} {format_signed(bound * scale.factor, decimals)}"
        for word, bound in (("from", value.low), ("to", value.high))
        if math.isfinite(bound)
    ]
    level = format_level(model.confidence)
    return f"{shown}{unit} ({f'{level} interval {bounds[0]}, unbounded beyond' if bounds else 'no interval'})"


def _compare(model: QuantileModel, term: QuantileTerm) -> str:
    """What became of an effect on its way from the middle of the quantiles to the highest."""
    last = model.fits[-1]
    earlier = [fit for fit in model.fits if fit.quantile <= 0.5] or list(model.fits[:1])
    first = min(earlier, key=lambda fit: abs(fit.quantile - 0.5))
    if first is last:
        return ""
    then = next(item for item in first.terms if item.term == term.term)
    before, now = _signed_size(first, then), _signed_size(last, term)
    at = f"the {name_quantile(first.quantile)}"
    if not model.detects(first, then) or before == 0:
        return f"; at {at} no effect was detected"
    if len(_rows_of(last, term)) == 1 and before * now < 0:
        return f"; at {at} the effect goes the other way"
    if otherwise := _describe_order(then, term):
        return f"; at {at} {otherwise}"
    ratio = abs(now) / abs(before)
    if ratio >= _GROWN or ratio <= 1 / _GROWN:
        return f", {format_figures(ratio, 2)} times as much as at {at}"
    return f", about as much as at {at}"


def _describe_order(then: QuantileTerm, now: QuantileTerm) -> str:
    """How the levels lay at another quantile, where these effects are unlike; else nothing."""
    pairs = list(zip(then.levels, now.levels, strict=True))
    before = [first.value.estimate for first, _ in pairs]
    after = [second.value.estimate for _, second in pairs]
    product = sum(one * other for one, other in zip(before, after, strict=True))
    if product >= _ALIKE * math.hypot(*before) * math.hypot(*after):
        return ""
    lowest, highest = int(np.argmin(before)), int(np.argmax(before))
    if (lowest, highest) == (int(np.argmin(after)), int(np.argmax(after))):
        return "its levels between these two lie otherwise"
    ends = [then.levels[at].levels[0] for at in (lowest, highest)]
    return f"its levels lie otherwise, {ends[0]} lowest and {ends[1]} highest"


def _rows_of(fit: QuantileFit, term: QuantileTerm) -> list[QuantileCoefficient]:
    return [row for row in fit.coefficients if row.term == term.term.name]


def _signed_size(fit: QuantileFit, term: QuantileTerm) -> float:
    rows = _rows_of(fit, term)
    return rows[0].value.estimate if len(rows) == 1 else _size(fit, term)


def _size(fit: QuantileFit, term: QuantileTerm) -> float:
    """Half the range of what a term is answerable for."""
    if term.levels:
        shown = [effect.value.estimate for effect in term.levels]
        return (max(shown) - min(shown)) / 2
    return max(abs(row.value.estimate) for row in _rows_of(fit, term))


def rank_terms(model: QuantileModel) -> tuple[str, ...]:
    """Names of the terms, those with the largest effect at any quantile in proportion to the rest first."""
    sizes: dict[str, float] = {}
    for fit in model.fits:
        largest = max(_size(fit, term) for term in fit.terms) or 1.0
        for term in fit.terms:
            own = _size(fit, term) / largest * (1.0 if model.detects(fit, term) else 0.1)
            sizes[term.term.name] = max(sizes.get(term.term.name, 0.0), own)
    return tuple(sorted(sizes, key=lambda name: -sizes[name]))


def _list_some(names: list[str]) -> str:
    shown = names[:6]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def describe_detection(model: QuantileModel) -> str:
    """Say what a mark of detection, an interval and a p-value mean."""
    few = " None is marked where the observations are too few." if any(f.extreme for f in model.fits) else ""
    return (
        "* detected: p adjusted for the number of terms at its quantile (Holm) < "
        f"{format_given(model.alpha)}.{few} "
        f"Intervals ({format_level(model.confidence)}) and p-values are those of each effect by itself."
    )
