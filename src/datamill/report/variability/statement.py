"""Variability: what changes it, then each design point; or windows against a count."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from datamill.analysis.distribution.variability import PointVariabilities, PointVariability
from datamill.analysis.distribution.variability_comparison import FactorVariability
from datamill.analysis.distribution.windows import CountAssociation, FigureRange, WindowAnalysis
from datamill.analysis.groups.group_comparison import GroupEstimate, PairTest
from datamill.analysis.interval import Interval
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_count,
    format_fixed,
    format_given,
    format_level,
    format_p,
)
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import build_table
from datamill.report.tests.statement import ResponseNotes, list_notes
from datamill.report.words.scales import choose_scale, format_percent, round_interval

#: More rows than this are for --json.
_MOST_ROWS = 60
_MOST_PAIRS = 10
#: An interval whose ends are further apart than this factor tells next to nothing.
_USELESS_RATIO = 10
#: From this level on, two figures of what it leaves out are shown: 97.5%, but 67%.
_HIGH_LEVEL = 0.95
#: What levels may differ by for rounding alone.
_ROUNDING = 1e-9


def state_variability(
    notes: ResponseNotes, variability: PointVariabilities, factors: Sequence[FactorVariability]
) -> tuple[Part, ...]:
    """State variability; the first sentences are the answer."""
    sentences = phrase_variability(notes.response, variability, factors)
    parts: list[Part] = [Paragraph(sentence) for sentence in sentences]
    parts += [BLANK, Heading(f"Variability of {notes.response} by design point"), BLANK]
    parts += _tabulate_points(notes, variability)
    for item in factors:
        if 1 < len(item.pairs) <= _MOST_PAIRS:
            parts += [BLANK, *_state_pairs(item)]
    parts += [BLANK, Paragraph(f"Method: {variability.method}.", "  ")]
    if factors:
        text = (
            "Levels compared over the design points' coefficients of variation, two by Mann-Whitney, whose "
            "inversion gives the interval of their ratio, more by Kruskal-Wallis and pairs by Mann-Whitney; "
            f"p adjusted for {len(factors)} factors."
        )
        parts.append(Paragraph(text, "  "))
    parts += list_notes(notes)
    warnings = collect_warnings(variability, factors)
    parts += [Paragraph(f"Warning: {warning}.", "  ") for warning in warnings]
    return tuple(parts)


def phrase_variability(
    response: str, variability: PointVariabilities, factors: Sequence[FactorVariability]
) -> list[str]:
    """What changes variability and how much, or else how large it is; then what was not detected."""
    detected, missed = [], []
    for item in sorted(factors, key=lambda item: 2.0 if item.adjusted_p is None else item.adjusted_p):
        p = f"{item.deciding.name} p = {format_p(item.adjusted_p)}"
        pair = item.pairs[0] if len(item.pairs) == 1 else None
        ratio = None if pair is None else _find_ratio(pair)
        spelt = "" if pair is None or ratio is None else _spell_ratio(ratio, _explain_level(pair, ratio))
        medians = ", ".join(f"{level} {_spell_share(cv)} of {n}" for level, n, cv in item.medians)
        if item.detected:
            if pair is not None and ratio is not None:
                more = "more" if ratio.value.estimate > 1 else "less"
                detected.append(
                    f"{response} varies {more} at {item.factor} = {pair.second} than at {pair.first}: "
                    f"coefficients of variation have the ratio {spelt}; {p}."
                )
            else:
                detected.append(
                    f"The variability of {response} differs between the levels of {item.factor}: median "
                    f"coefficients of variation {medians} design points; {p}."
                )
        else:
            shown = ""
            if pair is not None and ratio is not None:
                shown = f"; ratio {pair.second} / {pair.first} {spelt}"
            missed.append(
                f"No effect of {item.factor} on the variability of {response} was detected ({p}){shown}."
            )
    return [*(detected or [_phrase_range(response, variability)]), *missed]


def _phrase_range(response: str, variability: PointVariabilities) -> str:
    """How large the coefficients of variation are."""
    known = [point for point in variability.points if point.cv is not None]
    if not known:
        still = all(point.sd == 0 for point in variability.points)
        why = ": the observations at each are all equal" if still else ""
        return f"No design point has a coefficient of variation of {response}{why}."
    if len(known) == 1 and known[0].cv is not None:
        shown = _phrase_cv(known[0].cv, variability.confidence)
        return f"The coefficient of variation of {response} is {shown}, n = {format_count(known[0].n)}."
    most = max(known, key=_get_cv)
    least = min(known, key=_get_cv)
    parts = [
        f"{word} {_phrase_cv(point.cv, variability.confidence)} at {_name_point(variability, point)}"
        for word, point in (("from", least), ("to", most))
        if point.cv is not None
    ]
    return f"Coefficients of variation of {response} range {' '.join(parts)}."


def state_windows(notes: ResponseNotes, analysis: WindowAnalysis) -> tuple[Part, ...]:
    """State variability over windows; the first sentences are the answer."""
    parts: list[Part] = [
        Paragraph(phrase_association(notes.response, analysis, item)) for item in analysis.associations
    ]
    title = f"{notes.response} over {len(analysis.windows)} windows by the sum of {analysis.against}"
    parts += [BLANK, Heading(title), BLANK]
    rows = []
    for item in analysis.by_count[:_MOST_ROWS]:
        rows.append(
            (
                format_given(item.count),
                str(item.windows),
                *_spell_range(item.cv, 100, "%"),
                *_spell_range(item.skewness, 1, ""),
            )
        )
    heads = ("count", "windows", "median CV", "least", "largest", "median G1", "least", "largest")
    parts.append(build_table(heads, rows, 0))
    if len(analysis.by_count) > _MOST_ROWS:
        left_out = len(analysis.by_count) - _MOST_ROWS
        parts.append(
            Paragraph(tell(f"… and {left_out} further counts; {argument('json')} has every window."))
        )
    parts += [BLANK, Paragraph(f"Method: {analysis.method}.", "  "), *list_notes(notes)]
    parts += [Paragraph(f"Warning: {warning}.", "  ") for warning in analysis.warnings]
    return tuple(parts)


def phrase_association(response: str, analysis: WindowAnalysis, item: CountAssociation) -> str:
    """A sentence: whether a figure of windows goes with their count."""
    where = f"over {item.windows} windows of {analysis.size} observations"
    if item.correlation is None or item.p is None:
        return f"The {item.figure} of {response} cannot be set against {analysis.against} {where}."
    value = item.correlation
    told = round_interval(value, decimals=2).phrase(level=format_level(analysis.confidence))
    shown = f"Spearman's correlation {told}, p = {format_p(item.p)}"
    if not item.detected:
        return (
            f"No change of the {item.figure} of {response} with {analysis.against} was detected {where}: "
            f"{shown}."
        )
    word = "grows" if value.estimate > 0 else "falls"
    return f"The {item.figure} of {response} {word} with {analysis.against} {where}: {shown}."


def _spell_range(found: FigureRange | None, factor: float, unit: str) -> tuple[str, str, str]:
    if found is None:
        return "-", "-", "-"
    ends = (factor * found.median, factor * found.least, factor * found.largest)
    decimals = _count_figures(*ends) if unit else 2
    return tuple(f"{format_fixed(item, decimals)}{unit}" for item in ends)  # type: ignore[return-value]


def _count_figures(*shown: float, least: int = 2) -> int:
    """Decimals, `least` of them at least, that show two figures of the smallest that is not zero."""
    return max([least, *(count_decimals(abs(item)) for item in shown if item)])


def _get_cv(point: PointVariability) -> float:
    assert point.cv is not None
    return point.cv.estimate


def _name_point(variability: PointVariabilities, point: PointVariability) -> str:
    return ", ".join(
        f"{name} = {level}" for name, level in zip(variability.factors, point.levels, strict=True)
    )


def _find_ratio(pair: PairTest) -> GroupEstimate | None:
    return next((estimate for estimate in pair.test.estimates if estimate.name == "ratio"), None)


def _spell_ratio(ratio: GroupEstimate, why: str = "") -> str:
    """A ratio with its interval; `why` says what keeps its level from being another."""
    value = ratio.value
    shown = round_interval(value, least=2)
    return f"{shown.estimate} ({_name_level(ratio.confidence)} interval {shown.ends}{why and f'; {why}'})"


def _name_level(confidence: float) -> str:
    """A level of ranks or one adjusted by Holm, with a figure or two of what it leaves out."""
    decimals = count_decimals(100 * (1 - confidence), digits=2 if confidence >= _HIGH_LEVEL else 1)
    return format_level(round(confidence, decimals + 2))


def _explain_level(pair: PairTest, ratio: GroupEstimate) -> str:
    """Why an interval of few design points has the level it has; empty where it has the one asked for.

    The widest interval by ranks goes from the smallest to the largest of all ratios of two points.
    """
    highest = 1 - 2 / math.comb(pair.n_first + pair.n_second, pair.n_second)
    if abs(ratio.confidence - highest) > _ROUNDING:
        return ""
    level, points = _name_level(ratio.confidence), f"{pair.n_first} against {pair.n_second} design points"
    return f"{level} is the highest level that {points} allow"


def _phrase_cv(value: Interval, confidence: float) -> str:
    if np.isfinite(value.high):
        return format_percent(value.scaled(100), confidence)
    decimals = _count_figures(100 * value.estimate, 100 * value.low, least=1)
    estimate, low = (format_fixed(100 * item, decimals) for item in (value.estimate, value.low))
    return f"{estimate}% ({format_level(confidence)} interval {low}% or more)"


def _tabulate_points(notes: ResponseNotes, variability: PointVariabilities) -> list[Part]:
    scale = choose_scale(notes.unit, max(abs(point.mean) for point in variability.points))
    mean = f"mean ({scale.unit})" if scale.unit else "mean"
    level = format_level(variability.confidence)
    header = (
        *variability.factors, "n", mean, "CV", f"{level} interval", "G1", f"{level} interval", "QCD",
        "MAD/median", "Q.skew",
    )  # fmt: skip
    rows = []
    for point in variability.points[:_MOST_ROWS]:
        digits = count_decimals(abs(point.mean) * scale.factor, 4)
        rows.append(
            (
                *point.levels,
                format_count(point.n),
                format_fixed(point.mean * scale.factor, digits),
                *_spell_figure(point.cv, "%", 100),
                *_spell_figure(point.skewness_interval, "", 1),
                _spell_share(point.dispersion),
                _spell_share(point.mad_ratio),
                "-" if point.quartile_skewness is None else format_fixed(point.quartile_skewness, 2),
            )
        )
    parts: list[Part] = [build_table(header, rows, len(variability.factors))]
    if len(variability.points) > _MOST_ROWS:
        left_out = len(variability.points) - _MOST_ROWS
        parts.append(
            Paragraph(tell(f"… and {left_out} further design points; {argument('json')} has them all."))
        )
    meaning = (
        "QCD: (Q3 − Q1) / (Q3 + Q1); Q.skew: quartile skewness. Neither they nor MAD depend on extremes."
    )
    return [*parts, Paragraph(meaning)]


def _spell_figure(value: Interval | None, unit: str, factor: float) -> tuple[str, str]:
    if value is None:
        return "-", "-"
    if not (np.isfinite(value.low) and np.isfinite(value.high)):
        end, word = (value.low, "more") if np.isfinite(value.low) else (value.high, "less")
        known = end if np.isfinite(end) else 0.0
        decimals = _count_figures(value.estimate * factor, known * factor) if unit else 2
        bound = f"{format_fixed(end * factor, decimals)}{unit} or {word}" if np.isfinite(end) else "anything"
        return f"{format_fixed(value.estimate * factor, decimals)}{unit}", bound
    shown = round_interval(value, factor, least=1)
    return f"{shown.estimate}{unit}", f"{shown.ends}{unit}"


def _spell_share(value: float | None) -> str:
    return "-" if value is None else f"{format_fixed(100 * value, _count_figures(100 * value))}%"


def _state_pairs(item: FactorVariability) -> list[Part]:
    parts: list[Part] = [Heading(f"Coefficients of variation between levels of {item.factor}")]
    reasons: list[str] = []
    for pair in item.pairs:
        ratio = _find_ratio(pair)
        shown = "" if ratio is None else f"ratio {_spell_ratio(ratio)}, "
        reasons += [] if ratio is None else [_explain_level(pair, ratio)]
        text = f"  {pair.second} / {pair.first}: {shown}adjusted p = {format_p(pair.adjusted_p)}"
        parts.append(Paragraph(text, "    "))
    parts += [Paragraph(f"  {why}.", "  ") for why in dict.fromkeys(filter(None, reasons))]
    return parts


def collect_warnings(
    variability: PointVariabilities, factors: Sequence[FactorVariability]
) -> tuple[str, ...]:
    """What limits the figures of design points and the comparisons of levels, each once."""
    wide = sum(
        point.cv is not None and point.cv.high > _USELESS_RATIO * point.cv.low for point in variability.points
    )
    found = [*variability.warnings, *_list_warnings(factors)]
    if wide:
        found.append(
            f"at {wide} of {len(variability.points)} design points the interval of the coefficient of "
            f"variation spans more than a factor of {_USELESS_RATIO}: observations are too few to know it"
        )
    return tuple(dict.fromkeys(found))


def _list_warnings(factors: Sequence[FactorVariability]) -> list[str]:
    """What limits the comparisons of levels, each named with its factor."""
    found = []
    for item in factors:
        for test in (item.deciding, *(pair.test for pair in item.pairs)):
            found += [f"levels of {item.factor}: {warning}" for warning in test.warnings]
    return found
