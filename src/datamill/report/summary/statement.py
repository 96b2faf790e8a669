"""Distributions: a table of five numbers, a line of boxes, means with intervals."""

from __future__ import annotations

from dataclasses import replace

from datamill.analysis.distribution.summary import DistributionSummary, GroupSummary
from datamill.analysis.interval import Interval
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_count,
    format_figures,
    format_fixed,
    format_level,
)
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import Table, build_table
from datamill.report.tables.text import WIDTH, lay_out_table
from datamill.report.tests.statement import ResponseNotes, list_notes
from datamill.report.words.scales import Scale, choose_scale, round_interval, scale_by_power

_MOST_ROWS = 200
#: Spreads below this in the scale of the medians get a scale of their own.
_SMALLEST_SHOWN = 1e-6
#: Characters of a line with a box, and of the narrowest that is still a picture.
_BOX, _SMALLEST_BOX = 28, 12


def state_summary(notes: ResponseNotes, summary: DistributionSummary) -> tuple[Part, ...]:
    """State summaries; the first sentence says where the medians lie."""
    scale = choose_summary_scale(notes.unit, summary)
    unit = f" ({scale.unit})" if scale.unit else ""
    parts: list[Part] = [Paragraph(phrase_summary(notes.response, summary, scale)), BLANK]
    parts += [Heading(f"{notes.response}{unit}"), BLANK, *_tabulate(summary, scale)]
    if len(summary.groups) > _MOST_ROWS:
        left_out = len(summary.groups) - _MOST_ROWS
        parts.append(Paragraph(tell(f"… and {left_out} further groups; {argument('json')} has them all.")))
    parts += [BLANK, Paragraph(f"n = {format_count(summary.n)}. Method: {summary.method}.", "  ")]
    parts += list_notes(notes)
    parts += [Paragraph(f"Warning: {warning}.", "  ") for warning in summary.warnings]
    return tuple(parts)


def choose_summary_scale(unit: str, summary: DistributionSummary) -> Scale:
    """Scale that suits the middle one of the groups' medians; what varies, beside a large common offset."""
    largest = max(max(abs(group.minimum), abs(group.maximum)) for group in summary.groups)
    middle = sorted(abs(group.median) for group in summary.groups)[len(summary.groups) // 2]
    chosen = choose_scale(unit, middle or largest)
    spread = _find_spread(summary)
    if 0 < spread * chosen.factor < _SMALLEST_SHOWN:
        chosen = choose_scale(unit, spread)
    if 0 < spread * chosen.factor < _SMALLEST_SHOWN:
        return scale_by_power(unit, spread)
    return chosen


def _find_spread(summary: DistributionSummary) -> float:
    """Height of the middle one of the boxes, or of all of them together; 0 where nothing varies."""
    heights = sorted(group.high_quartile - group.low_quartile for group in summary.groups)
    low = min(group.low_quartile for group in summary.groups)
    high = max(group.high_quartile for group in summary.groups)
    return heights[len(heights) // 2] or high - low


def phrase_summary(response: str, summary: DistributionSummary, scale: Scale) -> str:
    """One sentence: where the middle of the observations lies, or from which group to which it ranges."""
    unit = f" {scale.unit}" if scale.unit else ""
    groups = summary.groups
    if len(groups) == 1:
        group = groups[0]
        low, median, high = _spell(scale, group.low_quartile, group.median, group.high_quartile)
        return (
            f"Half of the {format_count(group.n)} observations of {response} lie between {low} and "
            f"{high}{unit}, the median at {median}{unit}{_bound(summary, group, scale)}."
        )
    least = min(groups, key=lambda group: group.median)
    most = max(groups, key=lambda group: group.median)
    if least.median == most.median:
        return _phrase_equal(response, summary, scale)
    low, high = _spell(scale, least.median, most.median)
    return (
        f"Medians of {response} range from {low}{unit}{_bound(summary, least, scale)} at "
        f"{_name(summary, least)} to {high}{unit}{_bound(summary, most, scale)} at {_name(summary, most)}, "
        f"over {len(groups)} groups."
    )


def _phrase_equal(response: str, summary: DistributionSummary, scale: Scale) -> str:
    unit = f" {scale.unit}" if scale.unit else ""
    bounds = [group.median_interval for group in summary.groups if group.median_interval is not None]
    median = _spell(scale, summary.groups[0].median)[0]
    if bounds:
        ends = min(item.low for item in bounds), max(item.high for item in bounds)
        _, low, high = _spell(scale, summary.groups[0].median, *ends)
        around = f" ({format_level(summary.confidence)} intervals within {low} to {high})"
    else:
        around = " (no intervals)"
    return f"Medians of {response} are {median}{unit} in all {len(summary.groups)} groups{around}."


def _bound(summary: DistributionSummary, group: GroupSummary, scale: Scale) -> str:
    """The interval of a median in brackets."""
    if group.median_interval is None:
        return f" (n = {format_count(group.n)}, no interval)"
    low, high = _spell(scale, group.median_interval.low, group.median_interval.high)
    return f" ({format_level(summary.confidence)} interval {low} to {high})"


def _name(summary: DistributionSummary, group: GroupSummary) -> str:
    pairs = zip(summary.factors, group.levels, strict=True)
    return ", ".join(f"{factor.name} = {level}" for factor, level in pairs)


def _spell(scale: Scale, *values: float) -> list[str]:
    """Numbers with four figures of the smallest that is not zero, and two of what they differ by."""
    sizes = [abs(value) * scale.factor for value in values if value]
    decimals = count_decimals(min(sizes), 4) if sizes else 0
    if (apart := (max(values) - min(values)) * scale.factor) > 0:
        decimals = max(decimals, count_decimals(apart))
    return [format_fixed(value * scale.factor, decimals) for value in values]


def _tabulate(summary: DistributionSummary, scale: Scale) -> list[Part]:
    """Two tables: five numbers with a line of boxes, then means."""
    level = format_level(summary.confidence)
    names = [factor.name for factor in summary.factors]
    shown = summary.groups[:_MOST_ROWS]
    decimals = _choose_decimals(summary, scale)
    numbers, means = [], []
    for group in shown:
        low, left, right, high = (
            format_fixed(value * scale.factor, decimals)
            for value in (group.minimum, group.low_quartile, group.high_quartile, group.maximum)
        )
        median, around = _spell_interval(group.median, group.median_interval, scale, decimals)
        start = [*group.levels, format_count(group.n)]
        numbers.append([*start, low, left, median, around, right, high])
        sd = "-" if group.sd is None else format_fixed(group.sd * scale.factor, decimals)
        cv = "-" if group.cv is None else f"{format_figures(100 * group.cv)}%"
        means.append([*start, *_spell_interval(group.mean, group.mean_interval, scale, decimals), sd, cv])
    five = build_table(
        [*names, "n", "min", "Q1", "median", f"{level} interval", "Q3", "max"], numbers, len(names)
    )
    heads = [*names, "n", "mean", f"{level} interval", "sd", "CV"]
    return [_add_boxes(five, shown), BLANK, build_table(heads, means, len(names))]


def _add_boxes(table: Table, groups: tuple[GroupSummary, ...]) -> Table:
    """The table of five numbers, with a line of boxes in what a terminal leaves of its width."""
    boxes = _draw_lines(groups, min(_BOX, WIDTH - 2 - max(map(len, lay_out_table(table)))))
    if not boxes:
        return table
    meaning = "Boxes: █ the middle half of the observations, │ the median, ─ out to the extremes"
    return replace(table, pictures=("boxes", *boxes), legend=f"{meaning} or the end of the line.")


def _spell_interval(value: float, interval: Interval | None, scale: Scale, decimals: int) -> tuple[str, str]:
    if interval is None:
        return format_fixed(value * scale.factor, decimals), "-"
    reach = (interval.high - interval.low) / 2 * scale.factor
    places = max(decimals, count_decimals(reach)) if reach > 0 else decimals
    shown = round_interval(interval, scale.factor, decimals=places)
    return shown.estimate, shown.ends


def _choose_decimals(summary: DistributionSummary, scale: Scale) -> int:
    """Four figures of the median group's box, or of its median where that has no height."""
    heights = sorted(group.high_quartile - group.low_quartile for group in summary.groups)
    typical = heights[len(heights) // 2] * scale.factor
    if typical <= 0:
        typical = max(abs(group.median) for group in summary.groups) * scale.factor / 100
    return count_decimals(typical, 3) if typical > 0 else 0


def _draw_lines(groups: tuple[GroupSummary, ...], width: int) -> list[str]:
    """Boxes from the smallest to the largest quartile of all groups, whiskers cut off at the ends.

    None where they would say nothing: of a single group, of equal quartiles, or without room.
    """
    if len(groups) < 2 or width < _SMALLEST_BOX:
        return []
    low = min(group.low_quartile for group in groups)
    high = max(group.high_quartile for group in groups)
    margin = (high - low) * 0.25
    low, high = low - margin, high + margin
    if high <= low:
        return []

    def place(value: float) -> int:
        return round((min(max(value, low), high) - low) / (high - low) * (width - 1))

    lines = []
    for group in groups:
        cells = [" "] * width
        for index in range(place(group.minimum), place(group.maximum) + 1):
            cells[index] = "─"
        for index in range(place(group.low_quartile), place(group.high_quartile) + 1):
            cells[index] = "█"
        cells[place(group.median)] = "│"
        lines.append("".join(cells))
    return lines
