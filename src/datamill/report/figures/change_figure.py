"""The picture of a change: every observation with the means, and beside it what lies between the means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from datamill.analysis.distribution.summary import split_cells
from datamill.analysis.level_changes import LevelChange
from datamill.analysis.level_means import LevelMean, is_complete
from datamill.analysis.model_data.cells import Cells, FloatArray, gather_cells
from datamill.analysis.records import Interval, PairComparison
from datamill.report.figures.charts import choose_mark
from datamill.report.figures.figure import INK, Figure
from datamill.report.numbers import Scale, format_count, name_confidence
from datamill.report.short_names import apply_short_names

#: Observations that are drawn one by one; of more, so many evenly by rank.
_MOST_POINTS = 200
#: Levels that one figure shows.
_MOST_LEVELS = 30
#: Pixels: of the two panels, between them, and of one level's row.
_LEFT, _RIGHT, _BETWEEN, _ROW = 176, 124, 16, 66
#: Parts of a row: where its name stands, the middle and half height of its points, and its mean.
_NAME, _POINTS, _SWARM, _MEAN = -0.36, -0.06, 0.13, 0.24
#: Pixels that a letter of a name takes.
_LETTER = 6.6
#: Changes beyond this, in percent, are drawn in the unit of the response instead.
_LARGEST_PERCENT = 2000.0
#: The factor whose levels have a figure each.
_PACKAGE = "package"
Chart = dict[str, Any]
#: How an estimate is marked.
_MARK: Chart = {"type": "point", "filled": True, "shape": "diamond", "size": 90, "opacity": 1}


@dataclass(frozen=True, slots=True)
class _Row:
    """One level: its observations as drawn (in the scale's unit), its mean, and its change."""

    level: str
    n: int
    points: tuple[float, ...]
    mean: Interval
    change: Interval


def draw_change(
    cells: Cells,
    change: LevelChange,
    means: Sequence[LevelMean],
    *,
    response: str,
    units: str,
    scale: Scale,
    confidence: float,
) -> Figure:
    """Draw the observations at each level of a factor, and each level's change against one of them.

    `means` are those of the factor's levels in the same group; `units` says what an observation stands for
    ("trials", "builds"). The change is in percent, or in the scale's unit where a ratio is not bounded.
    """
    relative = all(_is_modest(step.ratio) for step in change.steps)
    steps = {step.package: step for step in change.steps}
    base = change.steps[0].baseline
    base_shown = apply_short_names(base)
    by_level = _split_observations(cells, change)
    own = [mean for mean in means if mean.factor == change.factor and mean.group == change.group]
    shown = own[:_MOST_LEVELS]
    most = max(2, _MOST_POINTS // max(len(shown), 1))
    rows = [
        _Row(
            mean.level,
            mean.n,
            tuple(value * scale.factor for value in _thin(by_level[mean.level], most, change.n)),
            _scale(mean.value, scale.factor),
            _find_change(steps.get(mean.level), scale, relative=relative),
        )
        for mean in shown
    ]
    drawn = sum(len(row.points) for row in rows)
    level = name_confidence(confidence)
    unit = f" ({scale.unit})" if scale.unit else ""
    of_change = "%" if relative else scale.unit
    title = f"{response}{unit}"
    beside = f"change from {base_shown}{f' ({of_change})' if of_change else ''}"
    group = "" if change.group == "all" else f" of {change.group}"
    what = f"all {format_count(change.n)} {units}"
    if drawn < change.n:
        what = f"{format_count(drawn)} of {format_count(change.n)} {units}, evenly by rank"
    together = ", which hold for all pairs of levels together" if change.levels > 2 else ""
    caption = (
        f"on the left a point is one of {what}, a diamond the mean of a level over the combinations of all "
        f"other factors, a bar its {level} interval. On the right stand the changes from {base} with their "
        f"{level} intervals{together}: a bar that reaches the line at zero is compatible with no change."
    )
    if len(own) > len(shown):
        caption += f" {len(own) - len(shown)} further levels are not drawn."
    chart: Chart = {
        "hconcat": [
            _chart_observations(rows, title, scale.unit),
            _chart_changes(rows, base, beside, of_change),
        ],
        "spacing": _BETWEEN,
        "config": {"view": {"stroke": None}},
    }
    return Figure(f"change-{change.factor}", f"{response}{group} by {change.factor}", caption, chart)


def _is_modest(ratio: Any) -> bool:
    bounded = ratio is not None and ratio.low is not None and ratio.high is not None
    return bool(bounded) and 100 * (ratio.high - 1) <= _LARGEST_PERCENT


def _split_observations(cells: Cells, change: LevelChange) -> dict[str, FloatArray]:
    """Observations by level, ordered by size, that the means of the change are of."""
    names = [factor.name for factor in cells.factors]
    kept = [names.index(change.factor), *(names.index(name) for name in change.over)]
    factors = [cells.factors[index] for index in kept]
    # Without what the means are not over, such as blocks that were taken out.
    points = gather_cells(factors, cells.codes[cells.of_row][:, kept], cells.values + cells.origin)
    member = np.ones(points.counts.size, dtype=bool)
    if change.group != "all" and _PACKAGE in change.over:
        # A group is a level of the package; nothing else is told apart here.
        index = 1 + change.over.index(_PACKAGE)
        member = points.codes[:, index] == factors[index].levels.index(change.group)
    chosen = is_complete(points, member, 0)[points.of_row]
    codes = points.codes[points.of_row[chosen]][:, [0]]
    merged = gather_cells(factors[:1], codes, points.values[chosen] + points.origin)
    parts = split_cells(merged)
    return {
        merged.factors[0].levels[int(code)]: np.sort(part) + merged.origin
        for code, part in zip(merged.codes[:, 0], parts, strict=True)
    }


def _thin(values: FloatArray, most: int, n: int) -> list[float]:
    """All of ordered values where the figure has few, else so many evenly by rank, both ends among them."""
    if n > _MOST_POINTS and values.size > most:
        values = values[np.round(np.linspace(0, values.size - 1, most)).astype(np.int64)]
    return [float(value) for value in values]


def _scale(value: Interval, factor: float) -> Interval:
    return Interval(value.estimate * factor, value.low * factor, value.high * factor)


def _find_change(step: PairComparison | None, scale: Scale, *, relative: bool) -> Interval:
    if step is None:
        return Interval(0.0, 0.0, 0.0)
    if relative:
        assert step.ratio is not None
        assert step.ratio.low is not None
        assert step.ratio.high is not None
        return Interval(*(100 * (end - 1) for end in (step.ratio.estimate, step.ratio.low, step.ratio.high)))
    return _scale(step.difference, scale.factor)


def _chart_observations(rows: Sequence[_Row], title: str, unit: str) -> Chart:
    points, means, names = [], [], []
    for at, row in enumerate(rows):
        names.append({"y": at + _NAME, "name": _label(row), "x": 0})
        means.append(
            {
                "level": row.level, "n": row.n, "mean": row.mean.estimate, "low": row.mean.low,
                "high": row.mean.high, "y": at + _MEAN,
            }
        )  # fmt: skip
        spread = _spread_out(len(row.points))
        points += [
            {"level": row.level, "value": value, "y": at + _POINTS + _SWARM * shift}
            for value, shift in zip(row.points, spread, strict=True)
        ]
    x = {
        "type": "quantitative",
        "title": title,
        "scale": {"zero": False, "nice": False, "padding": 8},
        "axis": _axis(_LEFT),
    }
    y = _place(len(rows))
    color, shape = _tell_apart(rows)
    shown = f" ({unit})" if unit else ""
    tooltip = [
        {"field": "level", "type": "nominal"},
        *(
            _number(name, f"{label}{shown}")
            for name, label in (("mean", "mean"), ("low", "interval from"), ("high", "to"))
        ),
        {"field": "n", "type": "quantitative", "format": ",d"},
    ]
    return {
        "width": _LEFT,
        "height": _ROW * len(rows),
        "layer": [
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "size": 20, "opacity": 0.45},
                "encoding": {
                    "x": {**x, "field": "value"}, "y": y, "color": color, "shape": shape,
                    "tooltip": [tooltip[0], _number("value", f"one of them{shown}")],
                },
            },
            {
                "data": {"values": means},
                "mark": {"type": "rule", "strokeWidth": 2.5},
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y,
                             "color": color, "tooltip": tooltip},
            },
            {
                "data": {"values": means},
                "mark": _MARK,
                "encoding": {"x": {**x, "field": "mean"}, "y": y, "color": color, "tooltip": tooltip},
            },
            {
                "data": {"values": names},
                "mark": {
                    "type": "text", "align": "left", "baseline": "middle", "fontSize": 13, "color": INK,
                    "limit": _LEFT + _BETWEEN + _RIGHT,
                },
                "encoding": {"x": {"value": 0}, "y": y, "text": {"field": "name"}},
            },
        ],
    }  # fmt: skip


def _chart_changes(rows: Sequence[_Row], base: str, title: str, unit: str) -> Chart:
    values = [
        {
            "level": row.level, "change": row.change.estimate, "low": row.change.low, "high": row.change.high,
            "y": at + _MEAN,
        }
        for at, row in enumerate(rows)
    ]  # fmt: skip
    room = int((_RIGHT + 10) / _LETTER)
    x = {
        "type": "quantitative",
        # A long name of a level would push the panel away from the other.
        "title": title
        if len(title) <= room
        else ["change from", apply_short_names(base)[:room], f"({unit})"]
        if unit
        else ["change from", apply_short_names(base)[:room]],
        "scale": {"zero": True, "nice": False, "padding": 12},
        "axis": _axis(_RIGHT),
    }
    y = _place(len(rows))
    color, _ = _tell_apart(rows)
    shown = f" ({unit})" if unit else ""
    tooltip = [
        {"field": "level", "type": "nominal"},
        *(
            _number(name, f"{label}{shown}")
            for name, label in (("change", "change"), ("low", "interval from"), ("high", "to"))
        ),
    ]
    others = [value for value in values if value["level"] != base]
    return {
        "width": _RIGHT,
        "height": _ROW * len(rows),
        "layer": [
            {
                "data": {"values": [{"zero": 0}]},
                "mark": {"type": "rule", "strokeDash": [4, 3], "color": INK, "opacity": 0.7},
                "encoding": {"x": {**x, "field": "zero"}},
            },
            {
                "data": {"values": others},
                "mark": {"type": "rule", "strokeWidth": 2.5},
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y,
                             "color": color, "tooltip": tooltip},
            },
            {
                "data": {"values": others},
                "mark": _MARK,
                "encoding": {"x": {**x, "field": "change"}, "y": y, "color": color, "tooltip": tooltip},
            },
            {
                "data": {"values": [value for value in values if value["level"] == base]},
                "mark": {**_MARK, "filled": False, "strokeWidth": 1.6},
                "encoding": {"x": {**x, "field": "change"}, "y": y, "color": color, "tooltip": tooltip[:1]},
            },
        ],
    }  # fmt: skip


def _tell_apart(rows: Sequence[_Row]) -> tuple[Chart, Chart]:
    """Colour and shape of each level; its name stands in its row."""
    levels, marks = [row.level for row in rows], [choose_mark(at) for at in range(len(rows))]
    base = {"field": "level", "type": "nominal", "legend": None}
    color = {**base, "scale": {"domain": levels, "range": [mark.color for mark in marks]}}
    return color, {**base, "scale": {"domain": levels, "range": [mark.shape for mark in marks]}}


def _label(row: _Row) -> str:
    return f"{row.level} (n = {format_count(row.n)})"


def _spread_out(count: int) -> list[float]:
    """Heights from −1 to 1 that keep neighbours by size apart, the same every time (van der Corput)."""
    heights = []
    for index in range(1, count + 1):
        number, part, total = index, 0.5, 0.0
        while number:
            total += part * (number & 1)
            number >>= 1
            part /= 2
        heights.append(2 * total - 1)
    return heights


def _axis(width: int) -> Chart:
    return {
        "tickCount": max(3, width // 48),
        "labelOverlap": "greedy",
        "labelSeparation": 6,
        "grid": True,
    }


def _place(rows: int) -> Chart:
    """The vertical place, by number from the top; names stand in the rows themselves."""
    return {
        "field": "y",
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [rows - 0.5, -0.5], "nice": False, "zero": False},
    }


def _number(field: str, title: str) -> Chart:
    return {"field": field, "type": "quantitative", "title": title, "format": ",.5~r"}
