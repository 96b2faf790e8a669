"""Figures of drift: every trial in the order in which it ran, and boxes by block (ICPE 2013, Figure 1)."""

from __future__ import annotations

import numpy as np

from datamill.analysis.drift.drift import Drift
from datamill.experiment.messages.numbers import format_count
from datamill.report.figures.charts import Box, Chart, chart_boxes, choose_mark, let_zoom
from datamill.report.figures.figure import INK, Figure

#: More points than this are drawn over each other.
_MOST_POINTS = 3000
#: Places that the line of running medians joins.
_MOST_MEDIANS = 120
_MOST_BLOCKS = 100
#: Between the outermost marks and the frame, in pixels.
_PADDING = 8
_REFERENCE = "reference"
_REFERENCE_COLOR = "#666666"


def draw_drift(drift: Drift, response: str, unit: str) -> Figure:
    """Draw each trial's deviation from the mean of its design point, against its place in the run."""
    order, n = drift.order, drift.n
    title = _name_deviation(drift, unit)
    shown = np.unique(np.linspace(0, n - 1, min(n, _MOST_POINTS)).round().astype(np.int64))
    shown = np.union1d(shown, np.flatnonzero(order.reference))
    values = [
        {
            "place": int(at) + 1,
            "deviation": float(drift.deviations[at]),
            "group": _REFERENCE if order.reference[at] else order.packages[int(order.package[at])],
            "package": order.packages[int(order.package[at])],
            "block": order.blocks[int(order.block[at])],
        }
        for at in shown
    ]
    groups = [
        name for code, name in enumerate(order.packages) if np.any((order.package == code) & ~order.reference)
    ]
    marks = [choose_mark(index) for index in range(len(groups))]
    colors, shapes = [mark.color for mark in marks], [mark.shape for mark in marks]
    if np.any(order.reference):
        groups.append(_REFERENCE)
        colors.append(_REFERENCE_COLOR)
        shapes.append("diamond")
    # Zooming clips marks to the frame: without padding those at its edge would be cut.
    x = {
        "field": "place",
        "type": "quantitative",
        "title": "place in the run",
        "scale": {"nice": False, "zero": False, "padding": _PADDING},
    }
    y = {"field": "deviation", "type": "quantitative", "title": title, "scale": {"padding": _PADDING}}
    legend = {"title": None, "orient": "top"}
    points: Chart = {
        "mark": {"type": "point", "filled": True, "size": 26, "opacity": 0.7},
        "encoding": {
            "x": x,
            "y": y,
            "color": _name_groups(groups, colors, legend),
            "shape": _name_groups(groups, shapes, legend),
            "size": {
                "condition": {"test": f"datum.group === '{_REFERENCE}'", "value": 90},
                "value": 26,
            },
            "tooltip": [
                {"field": "place", "type": "quantitative"},
                {"field": "package", "type": "nominal"},
                {"field": "block", "type": "nominal"},
                {"field": "deviation", "type": "quantitative", "format": ",.4~r"},
            ],
        },
    }
    medians = [
        {"place": float(at) + 1, "deviation": median}
        for at, median in drift.list_running_medians(_MOST_MEDIANS)
    ]
    line: Chart = {
        "data": {"values": medians},
        "mark": {"type": "line", "color": INK, "strokeWidth": 2, "opacity": 0.85},
        "encoding": {"x": x, "y": y},
    }
    layers = [points, line]
    if drift.has_stretch and drift.stretch is not None:
        stretch = {"place": drift.stretch.first - 0.5, "end": drift.stretch.last + 0.5}
        layers.insert(
            1,
            {
                "data": {"values": [stretch]},
                "mark": {"type": "rect", "color": "#dd7f1e", "opacity": 0.16, "clip": True},
                "encoding": {"x": x, "x2": {"field": "end"}},
            },
        )
    chart = let_zoom({"data": {"values": values}, "layer": layers, "width": 780, "height": 260})
    caption = (
        f"each mark is a trial (n = {format_count(n)}), at its departure from the mean of trials like it; "
        "the line is the running median. Without drift the marks lie evenly about zero from left to right."
    )
    if drift.has_stretch:
        caption += " The shaded trials are the ones that differ most from the others."
    return Figure("drift", f"{response} in the order in which trials ran", caption, chart)


def draw_blocks(drift: Drift, response: str, unit: str) -> Figure | None:
    """Draw a box for each block, with its mean as a cross; None with one block only, or too many."""
    boxes = drift.summarize_blocks()
    if not 2 <= len(boxes) <= _MOST_BLOCKS:
        return None
    chart, left_out = chart_boxes(
        [Box("", "", box.block, box.summary, box.mean) for box in boxes],
        title=_name_deviation(drift, unit),
        unit="%" if drift.relative else unit,
        x_title="block, in the order of the run",
        order=[box.block for box in boxes],
        factor=1.0,
        log=False,
        one_color=True,
    )
    sizes = sorted(box.summary.n for box in boxes)
    each = f"{sizes[0]}" if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"
    caption = (
        f"each box holds the middle half of the block's trials ({each} a block), the line in it is their "
        "median, the × their mean, points are trials far from the others. A block that lies apart was "
        "measured while the machine was in another state."
    )
    if left_out:
        caption += f" {format_count(left_out)} of the points are not drawn; the most extreme are."
    return Figure("drift-blocks", f"{response} by block", caption, chart)


def _name_deviation(drift: Drift, unit: str) -> str:
    if drift.relative:
        return "departure from the mean of like trials (%)"
    return f"departure from the mean of like trials{f' ({unit})' if unit else ''}"


def _name_groups(groups: list[str], marks: list[str], legend: Chart) -> Chart:
    scale = {"domain": groups, "range": marks}
    return {
        "field": "group",
        "type": "nominal",
        "scale": scale,
        "legend": legend if len(groups) > 1 else None,
    }
