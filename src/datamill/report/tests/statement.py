"""Groups compared: which is larger, by how much, how sure; then every comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass

from datamill.analysis.groups.group_comparison import GroupComparison, GroupEstimate, GroupTest, PairTest
from datamill.analysis.interval import Interval
from datamill.experiment.messages.numbers import (
    format_count,
    format_figures,
    format_fixed,
    format_level,
    format_p,
)
from datamill.report.tables.left_out import list_left_out
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.words.scales import Scale, choose_scale, format_interval, format_percent, round_interval


@dataclass(frozen=True, slots=True)
class ResponseNotes:
    """What a reader must know of the response: its name and unit, and what became of some of its rows."""

    response: str
    unit: str
    excluded: int = 0
    averaged: int = 0
    partly_valid: int = 0
    averaged_builds: int = 0
    put_aside: tuple[tuple[str, int], ...] = ()


def state_tests(notes: ResponseNotes, comparison: GroupComparison) -> tuple[Part, ...]:
    """State a comparison of groups; the first sentence is the answer."""
    scale = choose_response_scale(notes.unit, comparison)
    parts: list[Part] = [Paragraph(phrase_answer(notes.response, comparison, scale)), BLANK]
    # Ratios and shares have no unit, and without a difference there is nothing that a scale suits.
    unit = f" ({scale.unit})" if scale.unit and _has_differences(comparison) else ""
    parts.append(Heading(f"{notes.response}{unit} by {comparison.factor}: {_QUESTIONS[comparison.question]}"))
    if comparison.combined is not None:
        parts += [BLANK, Heading("Over all strata"), *_state_pair(comparison.combined, scale)]
    for stratum in comparison.strata:
        sizes = ", ".join(f"{label} {format_count(n)}" for label, n in stratum.counts)
        where = ", ".join(f"{factor} = {level}" for factor, level in stratum.levels)
        parts += [BLANK, Paragraph(f"{f'At {where}; ' if where else ''}n: {sizes}", "  ")]
        if stratum.overall is not None:
            parts.append(_state_overall(stratum.overall, stratum.overall_adjusted_p))
        for pair in stratum.pairs:
            parts += _state_pair(pair, scale)
    parts += [BLANK, Paragraph(f"Why: {comparison.why}.", "  ")]
    parts.append(Paragraph(f"Method: {comparison.method}.", "  "))
    parts += list_notes(notes)
    parts += [Paragraph(f"Warning: {warning}.", "  ") for warning in collect_warnings(comparison)]
    return tuple(parts)


_QUESTIONS = {
    "location": "are observations of one group larger than those of another?",
    "spread": "do observations of one group spread more than those of another?",
}


def phrase_answer(response: str, comparison: GroupComparison, scale: Scale) -> str:
    """One or two sentences: which group is larger, by how much, and how sure that is."""
    pairs = [pair for stratum in comparison.strata for pair in stratum.pairs]
    if comparison.combined is not None:
        return _phrase_pair(response, comparison.combined, comparison, scale, "")
    if len(pairs) == 1:
        return _phrase_pair(response, pairs[0], comparison, scale, "")
    found = [pair for pair in pairs if comparison.detects(pair)]
    if not found:
        aspect = response if comparison.question == "location" else f"the spread of {response}"
        least = min((pair.adjusted_p for pair in pairs if pair.adjusted_p is not None), default=None)
        return (
            f"No two groups of {comparison.factor} are told apart by {aspect} ({len(pairs)} comparisons, "
            f"smallest p = {format_p(least)}; n = {format_count(comparison.n)}); the intervals below say "
            "how large a difference may be."
        )
    best = min(found, key=lambda pair: (pair.adjusted_p or 0.0, -abs(pair.test.statistic or 0.0)))
    stratum = next(item for item in comparison.strata if best in item.pairs)
    where = ", ".join(f"{factor} = {level}" for factor, level in stratum.levels)
    text = _phrase_pair(response, best, comparison, scale, f" at {where}" if where else "")
    return f"{text} {len(found)} of {len(pairs)} comparisons tell their groups apart."


def _phrase_pair(response: str, pair: PairTest, comparison: GroupComparison, scale: Scale, where: str) -> str:
    sizes = f"n = {format_count(pair.n_first)} and {format_count(pair.n_second)}"
    if pair.adjusted_p is None:
        return (
            f"{pair.first} and {pair.second} cannot be tested against each other{where}: nothing varies "
            f"({sizes})."
        )
    said = [_phrase_estimate(estimate, pair, scale) for estimate in pair.test.estimates]
    sure = f"p = {format_p(pair.adjusted_p)}, {sizes}"
    aspect = f"{response}" if comparison.question == "location" else f"spread of {response}"
    if not comparison.detects(pair):
        detail = f": {'; '.join(said)}" if said else ""
        return (
            f"No difference in {aspect} between {pair.first} and {pair.second} was detected{where} "
            f"({sure}){detail}."
        )
    word = "larger" if _is_larger(pair.test) else "smaller"
    verb = "tends to be" if comparison.question == "location" and comparison.assumption == "nothing" else "is"
    return (
        f"The {aspect} of {pair.second} {verb} {word} than that of {pair.first}{where} ({sure}): "
        f"{'; '.join(said)}."
    )


def _is_larger(test: GroupTest) -> bool:
    """Whether the second group is the larger one, by the first estimate that is not neutral."""
    for estimate in test.estimates:
        neutral = {"response": 0.0, "ratio": 1.0, "share": 0.5}[estimate.measure]
        if estimate.value.estimate != neutral:
            return estimate.value.estimate > neutral
    return (test.statistic or 0.0) > 0


def _phrase_estimate(estimate: GroupEstimate, pair: PairTest, scale: Scale) -> str:
    value = estimate.value
    if estimate.measure == "share":
        shown = format_percent(value.scaled(100), _round_level(estimate.confidence))
        return f"{pair.second} is the larger in {shown} of pairs"
    if estimate.measure == "ratio":
        return f"{_short_name(estimate)} {_format_ratio(value, estimate.confidence)}"
    shown = format_interval(value, scale, _round_level(estimate.confidence), signed=True)
    return f"{_short_name(estimate)} {shown}"


def _short_name(estimate: GroupEstimate) -> str:
    return {"Hodges-Lehmann shift": "shift", "ratio": "ratio"}.get(estimate.name, estimate.name)


def _round_level(confidence: float) -> float:
    """A level as it is shown: four figures of the percentage."""
    return float(f"{100 * confidence:.4g}") / 100


def _format_ratio(value: Interval, confidence: float) -> str:
    if math.isinf(value.high):
        level = format_level(_round_level(confidence))
        bound = f"{format_fixed(value.low, 2)} or more" if value.low > 0 else "without bounds"
        return f"{format_fixed(value.estimate, 2)} ({level} interval {bound})"
    return round_interval(value, least=2).phrase(level=format_level(_round_level(confidence)))


def choose_response_scale(unit: str, comparison: GroupComparison) -> Scale:
    """Scale of the differences: that of the largest bound."""
    bounds = [0.0]
    for pair in list_pairs(comparison):
        for estimate in pair.test.estimates:
            if estimate.measure == "response":
                bounds += [abs(estimate.value.low), abs(estimate.value.high)]
    return choose_scale(unit, max(bounds))


def _has_differences(comparison: GroupComparison) -> bool:
    """Whether an estimate is measured in the response's unit."""
    return any(
        estimate.measure == "response" for pair in list_pairs(comparison) for estimate in pair.test.estimates
    )


def list_pairs(comparison: GroupComparison) -> list[PairTest]:
    """All pairs, the one over all strata first."""
    combined = [comparison.combined] if comparison.combined is not None else []
    return combined + [pair for stratum in comparison.strata for pair in stratum.pairs]


def _state_overall(test: GroupTest, adjusted_p: float | None) -> Part:
    text = f"all groups: {_format_test(test)}, p = {format_p(test.p)}"
    if adjusted_p != test.p and adjusted_p is not None:
        text += f", adjusted p = {format_p(adjusted_p)}"
    for estimate in test.estimates:
        text += f"; {estimate.name} {_format_ratio(estimate.value, estimate.confidence)}"
    return Paragraph(text, "  ", margin="  ")


def _format_test(test: GroupTest) -> str:
    if test.statistic is None:
        return f"{test.name}: no test"
    df = f"({', '.join(f'{format_figures(item, 4)}' for item in test.df)})" if test.df else ""
    return f"{test.name} {test.statistic_name}{df} = {format_figures(test.statistic, 5)}"


def _state_pair(pair: PairTest, scale: Scale) -> list[Part]:
    text = f"{pair.second} against {pair.first}: {_format_test(pair.test)}"
    if pair.test.p is not None:
        text += f", p = {format_p(pair.test.p)}"
    if pair.adjusted_p is not None and pair.adjusted_p != pair.test.p:
        text += f", adjusted p = {format_p(pair.adjusted_p)}"
    parts: list[Part] = [Paragraph(text, "  ", margin="  ")]
    for estimate in pair.test.estimates:
        value, confidence = estimate.value, estimate.confidence
        if estimate.measure == "share":
            shown = format_percent(value.scaled(100), _round_level(confidence))
            name = f"share of pairs with {pair.second} larger"
        elif estimate.measure == "ratio":
            name, shown = estimate.name, _format_ratio(value, confidence)
        else:
            name, shown = estimate.name, _format_difference(value, scale, confidence)
        parts.append(Paragraph(f"{name}: {shown}", "  ", margin="    "))
    return parts


def _format_difference(value: Interval, scale: Scale, confidence: float) -> str:
    unit = f" {scale.unit}" if scale.unit else ""
    shown = round_interval(value, scale.factor, signed=True)
    return shown.phrase(unit, format_level(_round_level(confidence)))


def list_notes(notes: ResponseNotes) -> list[Part]:
    """What became of rows that are not used as they are."""
    texts = []
    if notes.averaged:
        texts.append(f"{notes.averaged} trials have several measurements, averaged: they are not replicates.")
    if notes.averaged_builds:
        texts.append(
            f"{notes.averaged_builds} builds have several executions, averaged: those of one build are not "
            "replicates."
        )
    if notes.partly_valid:
        texts.append(
            f"Warning: {notes.partly_valid} trials have invalid measurements besides valid ones, of which "
            "the valid ones are used."
        )
    return [
        *list_left_out(notes.excluded, notes.put_aside),
        *(Paragraph(text, "  ") for text in texts),
    ]


def collect_warnings(comparison: GroupComparison) -> list[str]:
    """All that limits what a comparison says, each thing once."""
    warnings = list(comparison.warnings)
    for stratum in comparison.strata:
        for test in (stratum.overall, *(pair.test for pair in stratum.pairs)):
            warnings += test.warnings if test is not None else ()
    if comparison.combined is not None:
        warnings += comparison.combined.test.warnings
    return list(dict.fromkeys(warnings))
