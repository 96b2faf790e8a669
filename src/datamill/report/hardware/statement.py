"""What a dimension of hardware does, in sentences and tables."""

from __future__ import annotations

import math

from datamill.analysis.hardware.dimension import DimensionAnalysis, OtherFactorEffect
from datamill.analysis.hardware.nested_effects import LevelPair, NestedEffect
from datamill.analysis.interval import Interval
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_count,
    format_figures,
    format_level,
    format_p,
    format_signed,
    format_to_error,
)
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import Table, build_table
from datamill.report.tests.statement import ResponseNotes, list_notes
from datamill.report.words.scales import Scale, choose_scale, round_interval, round_to_figures

#: Pairs of levels that have a sentence each; more stand in the table alone.
_MOST_SENTENCES = 3


def scale_machines(found: DimensionAnalysis) -> Scale:
    """Scale that suits the middle one of the machines' values, by magnitude."""
    sizes = sorted(abs(item.value) for item in found.machines)
    return choose_scale(found.unit, sizes[len(sizes) // 2])


def word_dimension(found: DimensionAnalysis) -> tuple[str, ...]:
    """What the dimension does, then what the other factors do and whether that depends on it."""
    counts = ", ".join(f"{item.level} {format_count(item.machines)}" for item in found.main.levels)
    machines = f"{format_count(len(found.machines))} machines ({counts})"
    if not found.told_apart:
        return (
            f"The data cannot tell what {found.dimension} does to {found.response}: each of its levels has "
            f"one machine ({counts}), and two machines differ anyway.",
        )
    if found.main.p is None:
        return (
            f"Machines of the same {found.dimension} have the same {found.response}, without any variation.",
        )
    first = (
        f"{found.dimension} matters to {found.response} (p = {format_p(found.main_p)})"
        if found.detected
        else f"The data do not show that {found.dimension} matters to {found.response} "
        f"(p = {format_p(found.main_p)})"
    )
    pairs = [_phrase_pair(pair, found) for pair in found.main.pairs[:_MOST_SENTENCES]]
    said = [f"{first}: {'; '.join(pairs)}. Over {machines}."]
    said += [_phrase_factor(item, found) for item in found.factors]
    return tuple(said)


def _phrase_pair(pair: LevelPair, found: DimensionAnalysis) -> str:
    gap = _spell_change(pair.estimate, pair.interval, found)
    return f"at {pair.level} it is {gap} against {pair.against}"


def _phrase_factor(item: OtherFactorEffect, found: DimensionAnalysis) -> str:
    effect = item.effect
    change = _spell_change(effect.average, effect.average_interval, found)
    tail = (
        f"that depends on {found.dimension} (p = {format_p(item.interaction_p)})"
        if found.sees_dependence(item)
        else f"that it depends on {found.dimension} was not found (p = {format_p(item.interaction_p)})"
    )
    return (
        f"{item.factor} {item.level} against {item.base}: {change} on the average of {found.dimension} "
        f"(p = {format_p(item.average_p)}); {tail}."
    )


def _spell_change(estimate: float, interval: Interval | None, found: DimensionAnalysis) -> str:
    """A difference, or of ratios a change in percent, with its interval."""
    middle, low, high = _list_ends(estimate, interval, found)
    if low is None or high is None:
        return f"{middle} (no interval)"
    return f"{middle} ({format_level(found.confidence)} interval {low} to {high})"


def _list_ends(
    estimate: float, interval: Interval | None, found: DimensionAnalysis
) -> tuple[str, str | None, str | None]:
    scale = scale_machines(found)
    unit = "%" if found.scale == "log" else f" {scale.unit}".rstrip()

    factor = 1.0 if found.scale == "log" else scale.factor
    if interval is None:
        value = found.read_change(estimate) * factor
        return f"{format_signed(value, count_decimals(abs(value), 3))}{unit}", None, None
    read = interval.mapped(found.read_change).scaled(factor)
    decimals = count_decimals(min(read.high - read.low, 2 * abs(read.low - read.estimate)) / 2)
    shown = round_interval(read, decimals=decimals, signed=True)
    return f"{shown.estimate}{unit}", shown.low, f"{shown.high}{unit}"


def state_dimension(found: DimensionAnalysis, notes: ResponseNotes) -> tuple[Part, ...]:
    """The sentences, machines and levels, comparisons, and by what method."""
    parts: list[Part] = [Paragraph(text, "  ") for text in word_dimension(found)]
    parts += [BLANK, Heading("Machines:"), BLANK, tabulate_machines(found)]
    if found.told_apart:
        parts += [BLANK, Heading("Comparisons:"), BLANK, tabulate_effects(found)]
    parts += [BLANK, Paragraph(phrase_method(found), "  ")]
    parts += list_notes(notes)
    parts += [Paragraph(f"Warning: {warning}.", "  ") for warning in found.warnings]
    return tuple(parts)


def tabulate_machines(found: DimensionAnalysis) -> Table:
    """A row for each machine, by level, and below each level's machines their mean with its interval."""
    scale = scale_machines(found)
    unit = f" ({scale.unit})" if scale.unit else ""
    kind = "geometric mean" if found.scale == "log" else "mean"
    rows: list[tuple[str, ...]] = []
    strong = []
    for level in found.main.levels:
        own = [item for item in found.machines if item.level == level.level]
        for item in own:
            value = item.value * scale.factor
            rows.append((level.level, item.machine, format_count(item.n), format_figures(value, 4), ""))
        shown, between = format_figures(found.read_level(level.estimate) * scale.factor, 4), "–"
        if level.interval is not None:
            between = round_to_figures(level.interval.mapped(found.read_level).scaled(scale.factor), 4).ends
        strong.append(len(rows))
        rows.append((level.level, f"all {format_count(level.machines)}", "", shown, between))
    headers = (
        found.dimension, found.machine, "n", f"{kind}{unit}", f"{format_level(found.confidence)} interval",
    )  # fmt: skip
    return build_table(headers, rows, 2, strong=strong)


def tabulate_effects(found: DimensionAnalysis) -> Table:
    """A row for each pair of levels, and for each other factor on the average and at each level."""
    rows = [
        (f"{pair.level} against {pair.against}", *_spell_row(pair.estimate, pair.interval, found),
         format_count(found.main.df), format_p(pair.p))
        for pair in found.main.pairs
    ]  # fmt: skip
    for item in found.factors:
        name, effect = f"{item.factor} {item.level} against {item.base}", item.effect
        average = _spell_row(effect.average, effect.average_interval, found)
        rows.append((name, *average, format_count(effect.df), format_p(effect.average_p)))
        for level in effect.levels:
            own = _spell_row(level.estimate, level.interval, found)
            rows.append((f"  at {level.level}", *own, format_count(effect.df), ""))
        rows.append((f"  × {found.dimension}", "", "", format_count(effect.df), format_p(effect.p)))
    headers = ("comparison", "change", f"{format_level(found.confidence)} interval", "df", "p")
    return build_table(headers, rows, 1)


def _spell_row(estimate: float, interval: Interval | None, found: DimensionAnalysis) -> tuple[str, str]:
    middle, low, high = _list_ends(estimate, interval, found)
    return middle, "–" if low is None else f"{low} to {high}"


def phrase_method(found: DimensionAnalysis) -> str:
    """How many machines and trials, the spread of machines, and the test."""
    of = ""
    if found.main.deviation is not None:
        size = found.main.deviation
        of = (
            f" Machines of a level vary by a factor of {format_figures(math.exp(size), 3)} (one standard "
            "deviation)."
            if found.scale == "log"
            else f" Machines of a level have a standard deviation of "
            f"{format_to_error(size * scale_machines(found).factor, size)}."
        )
    kind = "logarithms" if found.scale == "log" else "values"
    return (
        f"n = {format_count(len(found.machines))} machines, {format_count(found.n)} observations; means over "
        f"{format_count(found.combinations)} combinations of the other factors.{of} Method: machines are "
        "nested "
        f"in {found.dimension}, and what was sampled: means of {kind} by machine, compared with the "
        "variance of "
        f"machines within a level (Student, {_name_df(found.main)}). p-values of sentences are adjusted over "
        "all effects (Holm), intervals and p of pairs for all pairs of levels (Bonferroni); the p in the "
        "table "
        "of other factors are single ones."
    )


def _name_df(effect: NestedEffect) -> str:
    return f"{format_count(effect.df)} degree{'' if effect.df == 1 else 's'} of freedom"
