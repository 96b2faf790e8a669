"""A screening in plain words: which factors move the response, what is aliased, and how to go on."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, replace

from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.answer.screening import (
    SMALLEST_SHARE,
    FactorEffect,
    Screening,
)
from datamill.design.design import Design
from datamill.design.points.aliases import AliasStructure, phrase_aliases
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_ceiling,
    format_count,
    format_fixed,
    format_given,
    format_level,
    format_p,
)
from datamill.experiment.messages.phrases import finish_sentence, phrase_left_out
from datamill.report.figures.views import FigureView, start_view
from datamill.report.screening.figure import draw_screening
from datamill.report.tables.table import Table, build_table
from datamill.report.words.answer import Answer
from datamill.report.words.scales import Scale, choose_scale, format_interval, format_percent
from datamill.report.words.term_names import spell_terms_of_design

#: Aliases of one factor that its row names.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class ScreeningWords:
    """What the answer says of a screening; `sentences` begin with the answer.

    `left_out` is what the model of all factors says of interactions that it had to leave out, and how to say
    it here.
    """

    sentences: tuple[str, ...]
    warnings: tuple[str, ...]
    method: str
    left_out: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ScreeningView:
    """What the page shows of a screening."""

    words: ScreeningWords
    rule: str
    table: Table
    figure: Future[FigureView] | None
    aliases: tuple[str, ...]
    survivors: tuple[str, ...]


def word_screening(
    design: Design, analysis: ResponseAnalysis, screening: Screening, structure: AliasStructure | None
) -> ScreeningWords:
    """Put a screening into sentences."""
    warnings = list_screening_warnings(design, analysis, screening, structure)
    return ScreeningWords(
        sentences=phrase_screening(screening, analysis.response.name, _scale_screening(analysis, screening)),
        warnings=tuple(finish_sentence(warning) for warning in warnings),
        method=f"{screening.method}; n = {format_count(screening.n)}",
        left_out=_shorten_left_out(analysis),
    )


def view_screening(
    design: Design, analysis: ResponseAnalysis, screening: Screening, structure: AliasStructure | None
) -> ScreeningView:
    """Put a screening into sentences, a figure and a table."""
    scale = _scale_screening(analysis, screening)
    figure = draw_screening(screening, analysis.response.name, scale) if screening.effects else None
    return ScreeningView(
        words=word_screening(design, analysis, screening, structure),
        rule=_phrase_rule(screening),
        table=_tabulate(screening, structure, scale),
        figure=None if figure is None else start_view(figure),
        aliases=() if structure is None else _phrase_aliases(structure),
        survivors=tuple(screening.survivors),
    )


def _scale_screening(analysis: ResponseAnalysis, screening: Screening) -> Scale:
    return choose_scale(
        analysis.unit, max((abs(effect.effect.estimate) for effect in screening.effects), default=0.0)
    )


def _shorten_left_out(analysis: ResponseAnalysis) -> tuple[str, str] | None:
    """A screening leaves out most interactions by its design: their number says enough."""
    names = () if analysis.model is None else analysis.model.not_estimable
    if not names:
        return None
    cells = analysis.observations.cells
    count = f"{format_count(len(names))} interaction{'s' if len(names) > 1 else ''}"
    return (
        finish_sentence(phrase_left_out(names, cells.possible - cells.counts.size, cells.possible)),
        f"{count} of factors cannot be estimated from the points of a screening and "
        f"{'are' if len(names) > 1 else 'is'} left out of the model; what is aliased is on the report page.",
    )


def list_screening_warnings(
    design: Design, analysis: ResponseAnalysis, screening: Screening, structure: AliasStructure | None
) -> tuple[str, ...]:
    """Return what limits a screening's answer; `structure` is that of the points that have data."""
    lost = design.points - analysis.observations.cells.counts.size
    if not lost:
        return screening.warnings
    text = (
        f"{lost} of {design.points} design points have no data: main effects are not as free of each other "
        "and of interactions as was planned"
    )
    partial = None if structure is None else structure.main_with_interaction
    if partial is not None:
        text += (
            f", and what is taken for the effect of a factor may in part be that of an interaction (at worst "
            f"{partial.first} and {partial.second}, with a correlation of "
            f"{format_fixed(partial.correlation, 2)})"
        )
    return (*screening.warnings, text)


def answer_by_screening(answer: Answer, words: ScreeningWords) -> Answer:
    """Return the answer of an experiment whose question is which factors move its response."""
    said, shorter = words.left_out or ("", "")
    return replace(
        answer,
        headline=words.sentences[0],
        details=(*words.sentences[1:], answer.headline, *answer.details),
        mattered=(),
        warnings=(
            *words.warnings,
            *(shorter if warning == said else warning for warning in answer.warnings),
        ),
        method=words.method,
    )


def phrase_screening(screening: Screening, response: str, scale: Scale) -> tuple[str, ...]:
    """Return which factors survive, which cannot be excluded, and which are quiet, in sentences."""
    count = len(screening.survivors) + len(screening.unresolved) + len(screening.quiet)
    lines = []
    if not screening.effects:
        lines.append(f"The data cannot tell yet what moves {response}.")
    elif screening.survivors:
        parts = [_phrase_effect(name, screening, scale) for name in screening.survivors]
        verb = "moves" if len(parts) == 1 else "move"
        lines.append(f"{len(parts)} of {count} factors {verb} {response}: {'; '.join(parts)}.")
    else:
        lines.append(f"None of {count} factors was shown to move {response}.")
    share = format_level(SMALLEST_SHARE)
    level = format_level(screening.confidence)
    if screening.unresolved:
        parts = [f"{name}{_phrase_reach(name, screening)}" for name in screening.unresolved]
        lines.append(
            f"Not detected, but they may move it by more than {share} ({level} intervals): "
            f"{', '.join(parts)}. More replicates would tell."
        )
    if screening.quiet:
        parts = [f"{name}{_phrase_reach(name, screening)}" for name in screening.quiet]
        lines.append(f"Not detected, and {share} at the most ({level} intervals): {', '.join(parts)}.")
    if screening.unknown:
        lines.append(
            f"Nothing is known about {', '.join(screening.unknown)}: the data do not tell the effect from "
            "others."
        )
    return tuple(lines)


def phrase_decision(factor: str, screening: Screening) -> str:
    """Return why a factor survives or not, in a few words."""
    if factor in screening.unknown:
        return "nothing is known about it"
    effect = _list_effects(factor, screening)[0]
    scale = Scale(1.0, "")
    if factor in screening.survivors:
        return f"detected: {_phrase_size(_find_detected(factor, screening), screening, scale)}"
    reach = _phrase_reach(factor, screening).strip(" ()") or _phrase_size(effect, screening, scale)
    share = format_level(SMALLEST_SHARE)
    excluded = f", but more than {share} is not excluded" if factor in screening.unresolved else ""
    return f"not detected, {reach}{excluded}"


def _find_detected(factor: str, screening: Screening) -> FactorEffect:
    """The strongest detected effect of a factor."""
    return next(item for item in _list_effects(factor, screening) if item.detected)


def _phrase_size(effect: FactorEffect, screening: Screening, scale: Scale) -> str:
    if effect.percent is not None:
        return format_percent(effect.percent, screening.confidence, signed=True)
    return format_interval(effect.effect, scale, screening.confidence, signed=True)


def _is_relative(screening: Screening) -> bool:
    return all(effect.percent is not None for effect in screening.effects)


def _phrase_rule(screening: Screening) -> str:
    return (
        f"A factor survives when its effect on some package was detected: p, adjusted for all "
        f"{len(screening.effects)} effects that were looked at (Holm), is below alpha = "
        f"{format_given(screening.alpha)}. "
        f"If no factor did anything, any would survive in {format_level(screening.alpha)} of such "
        "experiments at "
        "most."
    )


def _list_effects(factor: str, screening: Screening) -> list[FactorEffect]:
    return [effect for effect in screening.effects if effect.factor == factor]


def _phrase_effect(factor: str, screening: Screening, scale: Scale) -> str:
    """What the strongest detected effect of a factor is."""
    effect = _find_detected(factor, screening)
    size = _phrase_size(effect, screening, scale)
    whose = f" for {effect.package}" if len(screening.errors) > 1 else ""
    share = "" if effect.percent is None else " of the mean"
    return f"{factor} by {size}{share}{whose} from {effect.low} to {effect.high}"


def _phrase_reach(factor: str, screening: Screening) -> str:
    """How far the interval of a factor's effect reaches, on either side and over packages."""
    percents = [effect.percent for effect in _list_effects(factor, screening)]
    reaches = [max(abs(item.low), abs(item.high)) for item in percents if item is not None]
    if not reaches or len(reaches) < len(percents):
        return ""
    return f" (at most {format_ceiling(max(reaches), count_decimals(max(reaches)))}%)"


def _tabulate(screening: Screening, structure: AliasStructure | None, scale: Scale) -> Table:
    several = len(screening.errors) > 1
    rows, strong = [], []
    for index, effect in enumerate(screening.effects):
        if effect.detected:
            strong.append(index)
        verdict = "survives" if effect.factor in screening.survivors else "not detected"
        if effect.factor in screening.unresolved:
            verdict += ", not excluded"
        rows.append(
            (
                effect.factor,
                *((effect.package,) if several else ()),
                effect.low,
                effect.high,
                verdict,
                _name_aliases(effect.factor, structure),
                _phrase_size(effect, screening, scale),
                format_p(effect.p),
            )
        )
    headers = (
        "factor",
        *(("package",) if several else ()),
        "low",
        "high",
        "judgement",
        "aliased with",
        "change from low to high" + (", of the mean" if _is_relative(screening) else ""),
        "p (Holm)",
    )
    return build_table(headers, tuple(rows), words=6 if several else 5, strong=tuple(strong))


def _name_aliases(factor: str, structure: AliasStructure | None) -> str:
    """Two-factor interactions whose effect the main effect of a factor may be, wholly or in part."""
    if structure is None:
        return "–"
    whole = structure.find_group(factor)
    partly = [
        f"{name} in part ({format_fixed(size, 2)})" for name, size in structure.partners.get(factor, ())
    ]
    names = [spell_terms_of_design(name) for name in (*whole, *partly)]
    if not names:
        return "–"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _phrase_aliases(structure: AliasStructure) -> tuple[str, ...]:
    sentences = [spell_terms_of_design(sentence) for sentence in phrase_aliases(structure)]
    return (*sentences, "Interactions of three and more factors are taken for nothing.")


def warn_of_aliases(design: Design) -> str:
    """Return in a sentence what the points that were left out cost the answer; empty for nothing of note."""
    if not design.aliases or design.kind == "screening" or design.resolution > 4:
        return ""
    if design.resolution == 4:
        return (
            "not every combination of levels was measured: some interactions of two factors cannot be told "
            "apart, and are not in the model (see How it was measured)"
        )
    return (
        "not every combination of levels was measured: the effect of a factor may in truth be that of an "
        "interaction of others that it is aliased with (see How it was measured)"
    )
