"""What else mattered, and what was not detected, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.answer.term_influence import TermInfluence
from datamill.analysis.interval import Interval
from datamill.analysis.levels.level_changes import LevelChange
from datamill.analysis.linear.linear_model import LinearModel
from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.messages.numbers import count_decimals, format_ceiling, format_level, format_share
from datamill.report.changes.by_factor import phrase_change, word_response
from datamill.report.words.scales import Scale, format_interval, format_percent

#: Influential factors that the answer names; the report has them all.
_NAMED = 3


def phrase_influence(analysis: ResponseAnalysis, scale: Scale, *, answered: str = "") -> tuple[str, ...]:
    """Factors that mattered, bounds on those not detected, and those of which nothing can be said.

    `answered` is the factor that the headline is about.
    """
    # Without any error there is nothing to judge by, and nothing to say.
    if analysis.influence is None or analysis.model is None or analysis.model.error_ms == 0:
        return ()
    found, hidden = (
        [name for name in names if name != answered] for names in list_influential_factors(analysis)
    )
    lines = []
    if found:
        parts = list(dict.fromkeys(phrase_factor(factor, analysis, scale) for factor in found))
        more = f"; and {len(parts) - _NAMED} more, see the report" if len(parts) > _NAMED else ""
        # Without packages to compare, the factors are all that was asked about.
        what = "What mattered" if analysis.comparison is None and not answered else "What else mattered"
        lines.append(f"{what} (n = {analysis.influence.n}): {'; '.join(parts[:_NAMED])}{more}.")
    bounded = [name for name in hidden if _list_changes(name, analysis)]
    unknown = [name for name in hidden if name not in bounded]
    if bounded:
        lines.append(_phrase_undetected(bounded, analysis, scale))
    if unknown:
        lines.append(
            f"Nothing is known about {', '.join(unknown)}: too few combinations of levels have data to tell "
            "the effect from others."
        )
    if not analysis.model.misfits:
        lines.append(
            phrase_hidden_bound(analysis.model if analysis.blocked is None else analysis.blocked.model)
        )
    return tuple(lines)


def phrase_hidden_bound(model: LinearModel) -> str:
    """What factors that nobody controlled can still have done: at most what the model leaves to chance.

    Their part of the variation is in the error sum of squares, whatever they were (ASPLOS 2013, section 5.1).
    One that stood still in all trials, or moved with a factor, is not in it.
    """
    return (
        f"Chance accounts for {format_share(model.error_share)} of the variation (error sum of squares over "
        "the total): all hidden factors together, as they varied over these trials, did no more."
    )


def list_influential_factors(analysis: ResponseAnalysis) -> tuple[list[str], list[str]]:
    """Factors other than the package, the detected ones (most influential first) and the others.

    A factor is detected when its main effect or an interaction with it is; interactions count
    for its rank.
    """
    if analysis.influence is None or analysis.model is None:
        return [], []
    names = [factor.name for factor in analysis.model.factors]
    shares = {
        name: sum(item.share for item in _list_detected(name, analysis))
        for name in names
        if name != "package"
    }
    detected = [name for name in shares if _list_detected(name, analysis)]
    # Of machines, whose levels are known to differ, only what they do to other factors is news.
    hidden = [name for name in shares if name not in detected and name != MACHINE_FACTOR]
    return sorted(detected, key=lambda name: -shares[name]), hidden


def _list_detected(factor: str, analysis: ResponseAnalysis) -> list[TermInfluence]:
    """Detected terms that a factor is part of, the strongest first."""
    if analysis.influence is None or analysis.model is None:
        return []
    index = [item.name for item in analysis.model.factors].index(factor)
    return [item for item in analysis.influence.terms if item.detected and index in item.term.factors]


def _list_changes(factor: str, analysis: ResponseAnalysis) -> list[LevelChange]:
    return [item for item in analysis.changes if item.factor == factor]


def phrase_factor(factor: str, analysis: ResponseAnalysis, scale: Scale) -> str:
    """The largest change between levels of a factor, in the two packages that feel it most.

    Where no package by itself shows one, as with an interaction that changes sign, the strongest
    detected term that the factor is part of stands in.
    """
    detected = _list_detected(factor, analysis)
    names = [item.name for item in analysis.observations.cells.factors]
    # By itself, or only in one package: this is what changes between levels show.
    own = any(all(names[index] in (factor, "package") for index in item.term.factors) for item in detected)
    shown = analysis.list_shown_changes(factor) if own else ()
    if not shown:
        return phrase_term(detected[0], analysis, scale)
    parts = []
    for item in shown[:2]:
        who = "" if analysis.package_factor is None else f" for {item.group}"
        parts.append(f"{phrase_change(item, word_response(analysis, scale))}{who}")
    return f"{factor} ({'; '.join(parts)})"


def phrase_term(item: TermInfluence, analysis: ResponseAnalysis, scale: Scale) -> str:
    """A term's largest departure from the grand mean, beyond what its factors do by themselves."""
    factors = [analysis.observations.cells.factors[index].name for index in item.term.factors]
    by_factor = dict(zip(factors, item.levels, strict=True))
    # A sentence on what else mattered starts with what is not the package.
    order = sorted(factors, key=lambda name: name == "package")
    levels = ", ".join(by_factor[name] for name in order)
    effect = _spell(item.largest_percent, item.largest, analysis, scale)
    base = "the mean of all packages" if analysis.package_factor is not None else "the mean"
    beyond = " beyond their separate effects" if len(factors) > 1 else ""
    return f"{' with '.join(order)} (against {base}{beyond}: {effect} at {levels})"


def _phrase_undetected(factors: Sequence[str], analysis: ResponseAnalysis, scale: Scale) -> str:
    """Bounds on what was not detected; absence of evidence is no evidence of absence."""
    if analysis.model is not None and analysis.model.misfits:
        return (
            f"Not detectable here: {', '.join(factors)}; no bound is given, since the model does not fit "
            "(see the warnings)."
        )
    parts = [f"{name} at most {_bound(name, analysis, scale)}" for name in factors]
    return (
        "Not detectable here (largest possible change between two levels, averaged over the other factors, "
        f"with {format_level(analysis.confidence)} confidence): {', '.join(parts)}."
    )


def _bound(factor: str, analysis: ResponseAnalysis, scale: Scale) -> str:
    """The largest of the packages' bounds, rounded up, with the packages where some have none."""
    changes = _list_changes(factor, analysis)
    percents = [item.at_most_percent for item in changes if item.at_most_percent is not None]
    if len(percents) == len(changes):
        text = f"{format_ceiling(max(percents), count_decimals(max(percents)))}%"
    else:
        size = max(item.at_most for item in changes) * scale.factor
        text = f"{format_ceiling(size, count_decimals(size))} {scale.unit}".strip()
    if analysis.package_factor is None:
        return text
    packages = analysis.observations.cells.factors[analysis.package_factor].levels
    covered = [item.group for item in changes]
    return text if len(covered) == len(packages) else f"{text} ({' and '.join(covered)} only)"


def _spell(percent: Interval | None, departure: Interval, analysis: ResponseAnalysis, scale: Scale) -> str:
    if percent is not None:
        return format_percent(percent, analysis.confidence, signed=True)
    return format_interval(departure, scale, analysis.confidence, signed=True)
