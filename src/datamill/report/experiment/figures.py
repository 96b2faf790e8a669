"""Which figures a response gets, and the data that goes into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.assumptions.diagnostics import Diagnostics
from datamill.analysis.distribution.boxes import BoxSummary
from datamill.analysis.interval import Interval
from datamill.analysis.levels.comparison import PairComparison
from datamill.analysis.model_data.cells import Cells
from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.messages.numbers import format_count
from datamill.report.anova.figures import (
    draw_histogram,
    draw_influence,
    draw_probability,
    draw_residuals,
)
from datamill.report.changes.mattered import list_influential_factors
from datamill.report.figures.charts import (
    Box,
    EffectPoint,
    chart_boxes,
    chart_effect,
    choose_mark,
    let_choose,
    let_zoom,
    needs_log_axis,
)
from datamill.report.figures.figure import Figure
from datamill.report.summary.figures import draw_ecdf
from datamill.report.words.scales import Scale, choose_scale

#: More panels than this side by side cannot be read.
_MOST_COLUMNS = 8
#: From this number on, labels of an axis are so long that they leave no room for its title.
_LONGEST_LABEL = 1e5


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


def draw_response_boxes(
    analysis: ResponseAnalysis, scale: Scale, *, faceted: bool, labels: Mapping[str, str] | None = None
) -> Figure:
    """Box plots of a response: a box for each package, faceted as in Figure 5 when asked for.

    Columns are the levels of the most influential factor, rows the machines, called by their
    `labels`; with one package the boxes stand for the levels of that factor.
    """
    cells = analysis.observations.cells
    names = [factor.name for factor in cells.factors]
    column = _choose_column(analysis) if faceted or analysis.package_factor is None else None
    machine = next((name for name in (MACHINE_FACTOR, "worker") if name in names), None) if faceted else None
    row = names.index(machine) if machine is not None and column != names.index(machine) else None
    x = analysis.package_factor
    if x is None:
        x, column = column, None
    axis = _choose_axis(analysis, scale, _find_largest(cells))
    order = cells.factors[x].levels if x is not None else (analysis.response.name,)
    at = [index for index in (column, row, x) if index is not None]
    merged, found = analysis.find_boxes(at)
    boxes = []
    for item in found:
        label = {
            index: merged.factors[place].levels[merged.codes[item.cell, place]]
            for place, index in enumerate(at)
        }
        places = ["" if index is None else label[index] for index in (column, row, x)]
        mean = float(merged.means[item.cell]) + merged.origin
        called = (labels or {}).get(places[1], places[1])
        boxes.append(Box(places[0], called, places[2] or order[0], item.summary, mean))
    unit = f" ({axis.unit})" if axis.unit else ""
    ends = [end for box in boxes for end in _find_ends(box.summary)]
    log = needs_log_axis(min(ends), max(ends))
    chart, left_out = chart_boxes(
        boxes,
        # Beside each of several rows there is no room for more than the unit.
        title=axis.unit if row is not None and axis.unit else f"{analysis.response.name}{unit}",
        unit=axis.unit,
        column_title=names[column] if column is not None else "",
        row_title="machine",
        columns=cells.factors[column].levels if column is not None else ("",),
        rows=tuple((labels or {}).get(name, name) for name in cells.factors[row].levels)
        if row is not None
        else ("",),
        order=order,
        factor=axis.factor,
        log=log,
    )
    left_out += sum(item.beyond - len(item.summary.beyond) for item in found)
    parts = [names[index] for index in (x, column, row) if index is not None]
    units = analysis.observations.units
    title = f"{analysis.response.name} of all {units}" + (f", by {' and '.join(parts)}" if parts else "")
    caption = _caption_boxes(boxes, left_out, units, log=log)
    return Figure(f"boxes-{analysis.response.name}", title, caption, chart)


def _find_largest(cells: Cells) -> float:
    """The largest magnitude of an observation."""
    return max(abs(float(cells.lows.min()) + cells.origin), abs(float(cells.highs.max()) + cells.origin))


def draw_distributions(analysis: ResponseAnalysis) -> Figure:
    """Distribution curves of the packages, or of all trials of a single one."""
    cells = analysis.observations.cells
    merged, steps = analysis.find_steps()
    log = needs_log_axis(float(cells.lows.min()) + cells.origin, float(cells.highs.max()) + cells.origin)
    drawn = draw_ecdf(analysis.response.name, analysis.unit, merged, steps, log=log)
    title = f"{analysis.response.name}: share of {analysis.observations.units} up to each value"
    chart = let_zoom(drawn.chart)
    if merged.factors:
        chart = let_choose(chart, "group", merged.factors[0].levels)
    return Figure("distribution", title, drawn.caption, chart)


def draw_leftovers(analysis: ResponseAnalysis, scale: Scale, found: Diagnostics | None) -> tuple[Figure, ...]:
    """What the linear model leaves to chance, in four pictures; none where there is no model or no error."""
    if found is None:
        return ()
    cells = analysis.observations.cells if analysis.blocked is None else analysis.blocked.cells
    axis = _choose_axis(analysis, scale, _find_largest(cells))
    scaled = replace(found, fitted=found.fitted * axis.factor)
    name = f"{analysis.response.name} ({axis.unit})" if axis.unit else analysis.response.name
    drawn = (
        draw_residuals(scaled, name),
        draw_probability(found),
        draw_histogram(found),
        draw_influence(found),
    )
    return tuple(replace(figure, chart=let_zoom(figure.chart)) for figure in drawn)


def _find_ends(summary: BoxSummary) -> tuple[float, float]:
    """The smallest and the largest observation."""
    drawn = (summary.low_whisker, summary.high_whisker, *summary.beyond[:1], *summary.beyond[-1:])
    return min(drawn), max(drawn)


def _choose_axis(analysis: ResponseAnalysis, scale: Scale, largest: float) -> Scale:
    """The response's scale, or a larger one where its labels would be too long for an axis."""
    return scale if largest * scale.factor < _LONGEST_LABEL else choose_scale(analysis.unit, largest)


def _caption_boxes(boxes: Sequence[Box], left_out: int, units: str, *, log: bool) -> str:
    sizes = sorted({box.summary.n for box in boxes})
    each = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
    text = (
        f"each box holds the middle half of the {units} ({each} a box), and the line in it is the median: "
        f"half of the {units} have more, half less; the × is their plain mean. The thin lines "
        f"(whiskers) reach the most extreme of the {units} within 150% of the box's length; points are "
        f"{units} beyond."
    )
    if left_out:
        text += (
            f" {format_count(left_out)} of the points beyond are not drawn, evenly chosen; the most extreme "
            "ones are."
        )
    if log:
        text += " The axis is logarithmic: the same distance is the same number of times more."
    return text


def _choose_column(analysis: ResponseAnalysis) -> int | None:
    """The most influential factor whose levels fit side by side."""
    factors = analysis.observations.cells.factors
    names = [factor.name for factor in factors]
    found, others = list_influential_factors(analysis)
    for name in (*found, *others, *names):
        fits = name in names and len(factors[names.index(name)].levels) <= _MOST_COLUMNS
        if fits and name not in ("package", MACHINE_FACTOR, "worker"):
            return names.index(name)
    return None


def is_relative(analysis: ResponseAnalysis) -> bool:
    """Whether effect plots show changes in percent: every ratio of two levels' means is bounded."""
    ratios = [step.ratio for change in analysis.changes for step in change.steps]
    return all(ratio is not None and ratio.interval is not None for ratio in ratios)


def draw_effects(analysis: ResponseAnalysis, scale: Scale) -> tuple[Figure, ...]:
    """One effect plot for each factor other than the package, all on the same vertical axis.

    The axis is the change from one and the same level in percent, or in the response's unit where
    percentages make no sense.
    """
    relative = is_relative(analysis)
    bounds = [
        abs(bound)
        for change in analysis.changes
        for step in change.steps
        for bound in (step.difference.low, step.difference.high)
    ]
    if not bounds:
        return ()
    axis = _choose_axis(analysis, scale, max(bounds))
    numbers = {(mean.factor, mean.group, mean.level): mean.n for mean in analysis.level_means}
    points: dict[str, list[EffectPoint]] = {}
    bases: dict[str, str] = {}
    for change in analysis.changes:
        shown = {step.package: _find_change(step, axis, relative=relative) for step in change.steps}
        bases[change.factor] = base = change.steps[0].baseline
        ends = {level: (value.estimate, value.low, value.high) for level, value in shown.items()}
        # What others are compared with stands on the line of no change.
        ends[base] = (0.0, 0.0, 0.0)
        for level, (estimate, lower, upper) in ends.items():
            n = numbers.get((change.factor, change.group, level), 0)
            point = EffectPoint(level, change.group, n, estimate, lower, upper)
            points.setdefault(change.factor, []).append(point)
    everything = [point for group in points.values() for point in group]
    low, high = min(point.low for point in everything), max(point.high for point in everything)
    margin = 0.06 * (high - low) or 1.0
    groups = list_groups(analysis)
    unit = f" ({axis.unit})" if axis.unit else ""
    title = "change (%)" if relative else f"change of {analysis.response.name}{unit}"
    figures = []
    ranked = [name for part in list_influential_factors(analysis) for name in part]
    for name in sorted(points, key=lambda name: ranked.index(name) if name in ranked else len(ranked)):
        factor_levels = next(f.levels for f in analysis.observations.cells.factors if f.name == name)
        chart = chart_effect(
            points[name],
            title=title,
            unit="%" if relative else axis.unit,
            levels=factor_levels,
            groups=groups,
            domain=(low - margin, high + margin),
            zero_line=True,
        )
        caption = " ".join((f"Against {bases[name]}.", *_list_gaps(analysis, name)))
        figures.append(Figure(f"effect-{name}", name, caption, chart))
    return tuple(figures)


def _find_change(step: PairComparison, axis: Scale, *, relative: bool) -> Interval:
    """A level's change in percent, or in the axis's unit."""
    percent = None if step.ratio is None else step.ratio.to_percent()
    return percent if relative and percent is not None else step.difference.scaled(axis.factor)


def _list_gaps(analysis: ResponseAnalysis, factor: str) -> tuple[str, ...]:
    """Say which groups a plot leaves out, or shows from a part of their trials, one sentence each."""
    used: dict[str, int] = {}
    for mean in analysis.level_means:
        if mean.factor == factor:
            used[mean.group] = used.get(mean.group, 0) + mean.n
    gaps = []
    for group, n in _count_trials(analysis).items():
        count = used.get(group, 0) if analysis.package_factor is not None else sum(used.values())
        if count == 0:
            gaps.append(f"{group} is not shown: too few of its trials ended well at every level.")
        elif count < n:
            gaps.append(
                f"{group}: from {count} of {n} {analysis.observations.units}, those whose other levels have "
                "data at every level here."
            )
    return tuple(gaps)


def _count_trials(analysis: ResponseAnalysis) -> dict[str, int]:
    """Trials with data of each package."""
    cells = analysis.observations.cells
    if analysis.package_factor is None:
        return {f"all {analysis.observations.units}": cells.n}
    codes = cells.codes[:, analysis.package_factor]
    return {
        level: int(cells.counts[codes == code].sum())
        for code, level in enumerate(cells.factors[analysis.package_factor].levels)
        if (codes == code).any()
    }
