"""Which figures a response gets, and the data that goes into them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamill.analysis.response import ResponseAnalysis
from datamill.analysis.summaries import BoxSummary, summarize_box
from datamill.report.charts import Box, EffectPoint, choose_mark, draw_boxes, draw_effect
from datamill.report.mattered import list_influential_factors
from datamill.report.numbers import Scale, choose_scale

#: More panels than this side by side cannot be read.
_MOST_COLUMNS = 8
#: From this number on, labels of an axis are so long that they leave no room for its title.
_LONGEST_LABEL = 1e5


@dataclass(frozen=True, slots=True)
class BoxFigure:
    """An SVG of box plots with what a reader must know to read it."""

    svg: str
    title: str
    caption: str


@dataclass(frozen=True, slots=True)
class EffectFigure:
    """An SVG of one factor's effect plot, the factor's name, and what the plot leaves out."""

    svg: str
    title: str
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A group's name with the colour and the character of its mark."""

    name: str
    color: str
    mark: str


def list_groups(analysis: ResponseAnalysis) -> tuple[str, ...]:
    """Packages with data, in the order of their colours; one entry when there is a single package."""
    if analysis.package_factor is None:
        return ("all",)
    return analysis.observations.cells.factors[analysis.package_factor].levels


def list_legend(analysis: ResponseAnalysis) -> tuple[LegendEntry, ...]:
    """Legend of the effect plots; empty when there is nothing to tell apart."""
    groups = list_groups(analysis)
    if len(groups) == 1:
        return ()
    marks = [choose_mark(index) for index in range(len(groups))]
    return tuple(
        LegendEntry(name, mark.color, mark.character) for name, mark in zip(groups, marks, strict=True)
    )


def draw_response_boxes(analysis: ResponseAnalysis, scale: Scale, *, faceted: bool) -> BoxFigure:
    """Box plots of a response: a box for each package, faceted as in Figure 5 when asked for.

    Columns are the levels of the most influential factor, rows the machines; with one package the
    boxes stand for the levels of that factor.
    """
    cells = analysis.observations.cells
    names = [factor.name for factor in cells.factors]
    column = _choose_column(analysis) if faceted or analysis.package_factor is None else None
    row = names.index("worker") if faceted and "worker" in names and column != names.index("worker") else None
    x = analysis.package_factor
    if x is None:
        x, column = column, None
    axis = _choose_axis(analysis, scale, float(np.max(np.abs(cells.values + cells.origin))))
    order = cells.factors[x].levels if x is not None else (analysis.response.name,)
    rows = cells.codes[cells.of_row]
    boxes = []
    places = sorted(
        {tuple(-1 if at is None else int(code[at]) for at in (column, row, x)) for code in cells.codes}
    )
    for place in places:
        chosen = np.ones(cells.n, dtype=bool)
        for at, code in zip((column, row, x), place, strict=True):
            if at is not None:
                chosen &= rows[:, at] == code
        labels = [
            "" if at is None else cells.factors[at].levels[code]
            for at, code in zip((column, row, x), place, strict=True)
        ]
        summary = summarize_box(cells.values[chosen] + cells.origin)
        boxes.append(Box(labels[0], labels[1], labels[2] or order[0], summary))
    unit = f" ({axis.unit})" if axis.unit else ""
    svg, left_out = draw_boxes(
        boxes,
        # Beside each of several rows there is no room for more than the unit.
        title=axis.unit if row is not None and axis.unit else f"{analysis.response.name}{unit}",
        column_title=names[column] if column is not None else "",
        row_title="machine",
        columns=cells.factors[column].levels if column is not None else ("",),
        rows=cells.factors[row].levels if row is not None else ("",),
        order=order,
        factor=axis.factor,
    )
    return BoxFigure(svg, analysis.response.name, _caption_boxes(boxes, left_out))


def _choose_axis(analysis: ResponseAnalysis, scale: Scale, largest: float) -> Scale:
    """The response's scale, or a larger one where its labels would be too long for an axis."""
    return scale if largest * scale.factor < _LONGEST_LABEL else choose_scale(analysis.unit, largest)


def _caption_boxes(boxes: Sequence[Box], left_out: int) -> str:
    sizes = sorted({box.summary.n for box in boxes})
    each = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
    text = (
        f"Each box holds the middle half of the trials ({each} a box) and its line the median; whiskers "
        "reach the most extreme trial within 150% of the box's height, points lie beyond."
    )
    if left_out:
        text += f" {left_out} of the points beyond are not drawn."
    return text


def _choose_column(analysis: ResponseAnalysis) -> int | None:
    """The most influential factor whose levels fit side by side."""
    factors = analysis.observations.cells.factors
    names = [factor.name for factor in factors]
    found, others = list_influential_factors(analysis)
    for name in (*found, *others, *names):
        fits = name in names and len(factors[names.index(name)].levels) <= _MOST_COLUMNS
        if fits and name not in ("package", "worker"):
            return names.index(name)
    return None


def is_relative(analysis: ResponseAnalysis) -> bool:
    """Whether effect plots show departures in percent: every package's mean is certainly positive."""
    return all(item.percent is not None for item in analysis.level_means)


def draw_effects(analysis: ResponseAnalysis, scale: Scale) -> tuple[EffectFigure, ...]:
    """One effect plot for each factor other than the package, all on the same vertical axis.

    The axis is the departure from the package's own mean in percent, or the mean itself where
    percentages make no sense.
    """
    means = analysis.level_means
    if not means:
        return ()
    relative = is_relative(analysis)
    bounds = [abs(bound) for item in means for bound in (item.value.low, item.value.high)]
    axis = _choose_axis(analysis, scale, max(bounds))
    points: dict[str, list[EffectPoint]] = {}
    for item in means:
        value, size = (
            (item.percent, 1.0) if relative and item.percent is not None else (item.value, axis.factor)
        )
        point = EffectPoint(
            item.level, item.group, value.estimate * size, value.low * size, value.high * size
        )
        points.setdefault(item.factor, []).append(point)
    everything = [point for group in points.values() for point in group]
    low, high = min(point.low for point in everything), max(point.high for point in everything)
    margin = 0.06 * (high - low) or 1.0
    groups = list_groups(analysis)
    unit = f" ({axis.unit})" if axis.unit else ""
    title = "departure from the mean (%)" if relative else f"{analysis.response.name}{unit}"
    figures = []
    ranked = [name for part in list_influential_factors(analysis) for name in part]
    for name in sorted(points, key=lambda name: ranked.index(name) if name in ranked else len(ranked)):
        factor_levels = next(f.levels for f in analysis.observations.cells.factors if f.name == name)
        svg = draw_effect(
            points[name],
            title=title,
            levels=factor_levels,
            groups=groups,
            domain=(low - margin, high + margin),
            zero_line=relative,
        )
        figures.append(EffectFigure(svg, name, _list_gaps(analysis, name)))
    return tuple(figures)


def _list_gaps(analysis: ResponseAnalysis, factor: str) -> tuple[str, ...]:
    """Say which groups a plot leaves out, or shows from a part of their trials, one sentence each."""
    used: dict[str, int] = {}
    for mean in analysis.level_means:
        if mean.factor == factor:
            used[mean.group] = used.get(mean.group, 0) + mean.n
    gaps = []
    for group, summary in summarize_groups(analysis):
        count = used.get(group, 0) if analysis.package_factor is not None else sum(used.values())
        if count == 0:
            gaps.append(f"{group} is not shown: too few of its trials ended well at every level.")
        elif count < summary.n:
            gaps.append(
                f"{group}: from {count} of {summary.n} trials, those whose other levels have data at "
                "every level here."
            )
    return tuple(gaps)


def summarize_groups(analysis: ResponseAnalysis) -> tuple[tuple[str, BoxSummary], ...]:
    """Five-number summary of each package."""
    cells = analysis.observations.cells
    values = cells.values + cells.origin
    if analysis.package_factor is None:
        return (("all trials", summarize_box(values)),)
    codes = cells.codes[cells.of_row, analysis.package_factor]
    levels = cells.factors[analysis.package_factor].levels
    return tuple(
        (level, summarize_box(values[codes == code]))
        for code, level in enumerate(levels)
        if (codes == code).any()
    )
