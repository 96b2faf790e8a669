"""The two panels of an estimation plot: observations with means, and changes on an axis of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray
from datamill.experiment.messages.numbers import format_count
from datamill.report.figures.charts import choose_mark
from datamill.report.figures.figure import INK
from datamill.report.words.short_names import apply_short_names

#: Observations that are drawn one by one; of more, so many evenly by rank.
MOST_POINTS = 200
#: Levels that one figure shows.
MOST_LEVELS = 30
#: Pixels: of the two panels, between them, and of one level's row.
LEFT, RIGHT, BETWEEN, ROW = 176, 124, 16, 66
#: Parts of a row: where its name stands, the middle and half height of its points, and its mean.
_NAME, _POINTS, _SWARM, _MEAN = -0.36, -0.06, 0.13, 0.24
#: Pixels that a letter of a name takes.
_LETTER = 6.6
Chart = dict[str, Any]
#: How an estimate is marked.
_MARK: Chart = {"type": "point", "filled": True, "shape": "diamond", "size": 90, "opacity": 1}


@dataclass(frozen=True, slots=True)
class PlottedLevel:
    """One row: its observations as drawn (in the scale's unit), its estimate, and its change.

    The `estimate` is a bare number where no interval is drawn. `change` is None where nothing is compared
    with the level; a `reference` is what others are compared with. `note` is said behind the name.
    """

    level: str
    n: int
    points: tuple[float, ...]
    estimate: Interval | float | None
    change: Interval | None
    reference: bool = False
    note: str = ""


def thin_points(values: FloatArray, most: int, n: int) -> list[float]:
    """All of ordered values where the figure has few (n), else so many evenly by rank, with both ends."""
    if n > MOST_POINTS and values.size > most:
        values = values[np.round(np.linspace(0, values.size - 1, most)).astype(np.int64)]
    return [float(value) for value in values]


def share_points(levels: int) -> int:
    """Most points of each of so many levels."""
    return max(2, MOST_POINTS // max(levels, 1))


def phrase_points(drawn: int, n: int, units: str) -> str:
    """Return what the points of a figure are: `all 40 trials`, or how many of them."""
    if drawn < n:
        return f"{format_count(drawn)} of {format_count(n)} {units}, evenly by rank"
    return f"all {format_count(n)} {units}"


def chart_observations(
    rows: Sequence[PlottedLevel], title: str, unit: str, *, estimate: str = "mean", width: int = LEFT
) -> Chart:
    """Draw each level's observations and its estimate, which `estimate` names, in a row of its own."""
    points, means, names = [], [], []
    for at, row in enumerate(rows):
        names.append({"y": at + _NAME, "name": _label(row), "x": 0})
        if row.estimate is not None:
            found = row.estimate
            mean, low, high = (
                (found.estimate, found.low, found.high) if isinstance(found, Interval) else (found,) * 3
            )
            means.append(
                {"level": row.level, "n": row.n, "mean": mean, "low": low, "high": high, "y": at + _MEAN}
            )
        spread = _spread_out(len(row.points))
        points += [
            {"level": row.level, "value": value, "y": at + _POINTS + _SWARM * shift}
            for value, shift in zip(row.points, spread, strict=True)
        ]
    x = {
        "type": "quantitative",
        "title": title,
        "scale": {"zero": False, "nice": False, "padding": 8},
        "axis": _axis(width),
    }
    y = _place(len(rows))
    color, shape = _tell_apart(rows)
    shown = f" ({unit})" if unit else ""
    tooltip = [
        {"field": "level", "type": "nominal"},
        *(
            _number(name, f"{label}{shown}")
            for name, label in (("mean", estimate), ("low", "interval from"), ("high", "to"))
        ),
        {"field": "n", "type": "quantitative", "format": ",d"},
    ]
    return {
        "width": width,
        "height": ROW * len(rows),
        "layer": [
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "size": 20, "opacity": 0.45},
                "encoding": {
                    "x": {**x, "field": "value"}, "y": y, "color": color, "shape": shape,
                    "tooltip": [tooltip[0], _number("value", f"one of them{shown}")],
                },
            },
            *_mark_intervals(means, x, "mean", {"y": y, "color": color, "tooltip": tooltip}),
            {
                "data": {"values": names},
                "mark": {
                    "type": "text", "align": "left", "baseline": "middle", "fontSize": 13, "color": INK,
                    "limit": LEFT + BETWEEN + RIGHT,
                },
                "encoding": {"x": {"value": 0}, "y": y, "text": {"field": "name"}},
            },
        ],
    }  # fmt: skip


def chart_changes(
    rows: Sequence[PlottedLevel],
    base: str,
    title: str,
    unit: str,
    *,
    band: tuple[float, float] | None = None,
) -> Chart:
    """Draw each level's change, with zero in sight; `base` is the name of what all are compared with.

    `band` has changes that are too small to matter.
    """
    values = [
        {
            "level": row.level, "change": row.change.estimate, "low": row.change.low, "high": row.change.high,
            "y": at + _MEAN,
        }
        for at, row in enumerate(rows)
        if row.change is not None and not row.reference
    ]  # fmt: skip
    room = int((RIGHT + 10) / _LETTER)
    x = {
        "type": "quantitative",
        # A long name of a level would push the panel away from the other.
        "title": title
        if len(title) <= room
        else ["change from", apply_short_names(base)[:room], f"({unit})"]
        if unit
        else ["change from", apply_short_names(base)[:room]],
        "scale": {"zero": True, "nice": False, "padding": 12},
        "axis": _axis(RIGHT),
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
    references = [
        {"level": row.level, "change": 0.0, "y": at + _MEAN} for at, row in enumerate(rows) if row.reference
    ]
    layers: list[Chart] = []
    if band is not None:
        layers.append(
            {
                "data": {"values": [{"from": band[0], "to": band[1]}]},
                "mark": {"type": "rect", "color": "#3a9459", "opacity": 0.14},
                "encoding": {"x": {**x, "field": "from"}, "x2": {"field": "to"}},
            }
        )
    return {
        "width": RIGHT,
        "height": ROW * len(rows),
        "layer": [
            *layers,
            {
                "data": {"values": [{"zero": 0}]},
                "mark": {"type": "rule", "strokeDash": [4, 3], "color": INK, "opacity": 0.7},
                "encoding": {"x": {**x, "field": "zero"}},
            },
            *_mark_intervals(values, x, "change", {"y": y, "color": color, "tooltip": tooltip}),
            {
                "data": {"values": references},
                "mark": {**_MARK, "filled": False, "strokeWidth": 1.6},
                "encoding": {"x": {**x, "field": "change"}, "y": y, "color": color, "tooltip": tooltip[:1]},
            },
        ],
    }  # fmt: skip


def _mark_intervals(
    values: Sequence[Mapping[str, Any]], x: Chart, field: str, others: Chart
) -> tuple[Chart, Chart]:
    """The layers of estimates and their intervals: a line from `low` to `high` and a mark at `field`."""
    data = {"values": values}
    bounds = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
    return (
        {
            "data": data,
            "mark": {"type": "rule", "strokeWidth": 2.5},
            "encoding": {**bounds, **others},
        },
        {"data": data, "mark": _MARK, "encoding": {"x": {**x, "field": field}, **others}},
    )


def _tell_apart(rows: Sequence[PlottedLevel]) -> tuple[Chart, Chart]:
    """Colour and shape of each level; its name stands in its row."""
    levels, marks = [row.level for row in rows], [choose_mark(at) for at in range(len(rows))]
    base = {"field": "level", "type": "nominal", "legend": None}
    color = {**base, "scale": {"domain": levels, "range": [mark.color for mark in marks]}}
    return color, {**base, "scale": {"domain": levels, "range": [mark.shape for mark in marks]}}


def _label(row: PlottedLevel) -> str:
    return f"{row.level} (n = {format_count(row.n)}){f': {row.note}' if row.note else ''}"


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
