"""Charts in Vega-Lite's grammar: box plots as in the paper's Figure 5, effect plots as in Figure 6."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from datamill.analysis.distribution.boxes import BoxSummary
from datamill.report.figures.figure import INK
from datamill.report.words.short_names import apply_short_names

Chart = dict[str, Any]

#: Colours that stay apart in light, dark and for colour-blind eyes.
_PALETTE = ("#2f7ec1", "#dd7f1e", "#2f9e78", "#b5589f", "#8a7d2c", "#c4504a")
#: Shapes of points, and characters that look like them. Their number has no divisor in common with
#: the colours', so that the first 42 groups differ.
_SHAPES = (
    ("circle", "●"), ("square", "■"), ("triangle-up", "▲"), ("diamond", "◆"), ("cross", "✚"),
    ("triangle-down", "▼"), ("triangle-right", "▶"),
)  # fmt: skip
#: A ×, which marks the mean in a box as in ICPE 2013, Figure 1, and ASPLOS 2013, Figure 2.
_SALTIRE = "M-1,-1L1,1M-1,1L1,-1"
#: Strokes of lines, none like another; their number has no divisor in common with the colours'.
_DASHES = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3), (12, 4))
#: Points beyond the whiskers that one figure shows.
MOST_POINTS = 400
#: Pixels of a panel that stands above others.
_ROW_HEIGHT = 140
#: From this ratio of the largest to the smallest value on, a linear axis hides what is small.
_LOG_RATIO = 50.0
#: Numbers in tooltips: five figures, never an exponent.
_DIGITS = ",.5~r"
#: The wheel alone scrolls the page.
_ZOOM: Chart = {
    "name": "zoom",
    "select": {"type": "interval", "encodings": ["y"], "zoom": "wheel![event.shiftKey]"},
    "bind": "scales",
}
#: Name of the parameter by which a page's legend chooses the groups that are shown.
SHOWN = "shown"


@dataclass(frozen=True, slots=True)
class Box:
    """One box of a box plot: where it stands, its group's colour, and its numbers as shown."""

    column: str
    row: str
    x: str
    summary: BoxSummary
    mean: float | None = None


@dataclass(frozen=True, slots=True)
class EffectPoint:
    """Mean at a level, or deviation in percent, with its interval, as shown."""

    level: str
    group: str
    n: int
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Mark:
    """How a group is told from others: colour, shape, and the shape as a character."""

    color: str
    shape: str
    character: str


def choose_mark(index: int) -> Mark:
    """Mark of the group with this index."""
    return Mark(_PALETTE[index % len(_PALETTE)], *_SHAPES[index % len(_SHAPES)])


def choose_dash(index: int) -> list[int]:
    """Stroke of the line of the group with this index, in pixels of ink and gap."""
    return list(_DASHES[index % len(_DASHES)])


def let_zoom(chart: Chart) -> Chart:
    """The chart with axes that can be dragged, and stretched by Shift and the wheel."""
    if "spec" in chart:
        return {**chart, "spec": let_zoom(chart["spec"])}
    if "layer" in chart:
        return {**chart, "layer": [let_zoom(chart["layer"][0]), *chart["layer"][1:]]}
    select = {"type": "interval", "zoom": "wheel![event.shiftKey]"}
    zoom = {"name": "zoom", "select": select, "bind": "scales"}
    mark = chart["mark"] if isinstance(chart["mark"], dict) else {"type": chart["mark"]}
    return {**chart, "mark": {**mark, "clip": True}, "params": [*chart.get("params", []), zoom]}


def let_choose(chart: Chart, field: str, groups: Sequence[str]) -> Chart:
    """The chart with groups, named by `field`, that the page's legend hides and shows."""
    shown = {"name": SHOWN, "value": list(groups)}
    wanted = {"filter": f"indexof({SHOWN}, datum.{field}) >= 0"}
    return {
        **chart,
        "params": [*chart.get("params", []), shown],
        "transform": [wanted, *chart.get("transform", [])],
    }


def needs_log_axis(low: float, high: float) -> bool:
    """Whether values from `low` to `high` ask for a logarithmic axis: all positive, and far apart."""
    return low > 0 and high / low >= _LOG_RATIO


def chart_boxes(
    boxes: Sequence[Box],
    *,
    title: str,
    unit: str,
    x_title: str = "",
    column_title: str = "",
    row_title: str = "",
    columns: Sequence[str] = ("",),
    rows: Sequence[str] = ("",),
    order: Sequence[str],
    factor: float,
    log: bool,
    one_color: bool = False,
) -> tuple[Chart, int]:
    """Box plots faceted by column and row, one box for each of `order` in a panel.

    Values are multiplied by `factor` and are then in `unit`; `title` names their axis, `x_title`
    the other. Boxes with `one_color` are of one kind and may be many. Returns the chart and how many
    points beyond the whiskers were left out of it.
    """
    shown = [_thin(box.summary.beyond, MOST_POINTS // len(boxes)) for box in boxes]
    values: list[dict[str, Any]] = []
    for box, beyond in zip(boxes, shown, strict=True):
        place = {"column": box.column, "row": box.row, "x": box.x}
        numbers = {
            "n": box.summary.n,
            "lowWhisker": box.summary.low_whisker * factor,
            "low": box.summary.low_quartile * factor,
            "median": box.summary.median * factor,
            "high": box.summary.high_quartile * factor,
            "highWhisker": box.summary.high_whisker * factor,
        }
        if box.mean is not None:
            numbers["mean"] = box.mean * factor
        values.append(place | numbers)
        values += [place | {"beyond": value * factor} for value in beyond]
    panel = max(len(order) * 34, min(330, 780 // len(columns)))
    if one_color:
        panel = min(panel, 780)
    bar = 0.5 * panel / len(order)
    # Room beyond the most extreme, so that no end lies on the frame.
    scale: Chart = {"zero": False, "nice": False, "padding": 8}
    if log:
        numbers_shown = [
            value * factor
            for box in boxes
            for value in (box.summary.low_whisker, box.summary.high_whisker, *box.summary.beyond)
        ]
        domain = [min(numbers_shown) / 1.15, max(numbers_shown) * 1.15]
        scale = {"type": "log", "domain": domain, "nice": False}
    axis: Chart = {"format": "~g", "tickCount": 5} if log else {}
    x = {
        "field": "x",
        "type": "nominal",
        "sort": list(order),
        "title": x_title or None,
        "axis": {"labelAngle": 0 if _fits(order, panel) else -40, "grid": False, "labelOverlap": False},
        "scale": {"paddingInner": 0.35, "paddingOuter": 0.25},
    }
    color = {"value": choose_mark(0).color} if one_color else _color("x", order)
    height = 210 if len(rows) == 1 else _ROW_HEIGHT
    # Titles of rows stand above each other, and must not reach into the next row.
    titled: str | list[str] = title if len(rows) == 1 else _break_lines(title, height)
    y_first = {**_number("lowWhisker"), "title": titled, "scale": scale, "axis": axis}
    tooltip = [
        {"field": "x", "type": "nominal", "title": "group"},
        *_name_numbers(
            unit,
            highWhisker="upper whisker",
            high="upper quartile",
            median="median",
            low="lower quartile",
            lowWhisker="lower whisker",
        ),
        *(_name_numbers(unit, mean="mean") if any(box.mean is not None for box in boxes) else []),
        {"field": "n", "type": "quantitative", "format": ",d"},
    ]
    beyond_tooltip = [tooltip[0], *_name_numbers(unit, beyond="beyond the whisker")]
    marks: list[Chart] = [
        {
            "mark": {"type": "rule", "strokeWidth": 1.3, "clip": True},
            "params": [_ZOOM],
            "encoding": {"x": x, "y": y_first, "y2": {"field": "highWhisker"}, "color": color},
        },
        {
            "mark": {"type": "bar", "fillOpacity": 0.3, "strokeWidth": 1.3, "size": bar, "clip": True},
            "encoding": {
                "x": x, "y": _number("low"), "y2": {"field": "high"}, "color": color,
                "stroke": color, "tooltip": tooltip,
            },
        },
        {
            "mark": {"type": "tick", "thickness": 2.5, "orient": "horizontal", "size": bar, "clip": True},
            "encoding": {"x": x, "y": _number("median"), "color": color, "tooltip": tooltip},
        },
    ]  # fmt: skip
    if any(shown):
        marks.append(
            {
                "mark": {"type": "point", "size": 14, "filled": True, "opacity": 0.65, "clip": True},
                "encoding": {"x": x, "y": _number("beyond"), "color": color, "tooltip": beyond_tooltip},
            }
        )
    if any(box.mean is not None for box in boxes):
        marks.append(
            {
                "mark": {
                    "type": "point", "shape": _SALTIRE, "size": 46, "filled": False, "opacity": 1,
                    "clip": True, "strokeWidth": 1.8,
                },
                "encoding": {"x": x, "y": _number("mean"), "color": {"value": INK}, "tooltip": tooltip},
            }
        )  # fmt: skip
    panel_chart: Chart = {"layer": marks, "width": panel, "height": height}
    if len(columns) == 1 and not _fits(order, panel):
        # Long names stand beside lying boxes, in whole.
        panel_chart = _lay_down(panel_chart, max(90, 34 * len(order)), panel)
    left_out = sum(len(box.summary.beyond) for box in boxes) - sum(len(points) for points in shown)
    facets: Chart = {}
    # A name that is longer than its panel would lie upon its neighbours'.
    style: Chart = {"titleFontWeight": "normal", "labelFontWeight": "bold"}
    if len(columns) > 1:
        header = {**style, "labelFontSize": 12, "labelLimit": panel_chart["width"]}
        facets["column"] = _facet("column", columns, column_title, header)
    if len(rows) > 1:
        names = {row: _break_lines(apply_short_names(row), panel_chart["height"]) for row in rows}
        header = {
            **style, "labelAngle": -90, "labelFontSize": 11, "labelLimit": panel_chart["height"],
            "labelLineHeight": 13, "labelExpr": f"{json.dumps(names)}[datum.label] || (datum.label)",
        }  # fmt: skip
        facets["row"] = _facet("row", rows, row_title, header)
    if not facets:
        return {"data": {"values": values}, **panel_chart}, left_out
    return {"data": {"values": values}, "facet": facets, "spec": panel_chart, "spacing": 8}, left_out


def _lay_down(chart: Chart, height: int, width: int) -> Chart:
    """The boxes lying: what was vertical is horizontal, and names have an axis of their own at the left."""
    swap = {"x": "y", "y": "x", "x2": "y2", "y2": "x2"}
    layers = []
    for layer in chart["layer"]:
        encoding = {swap.get(channel, channel): part for channel, part in layer["encoding"].items()}
        name = {**encoding["y"], "title": None, "axis": {"labelAngle": 0, "grid": False, "labelLimit": 320}}
        mark = dict(layer["mark"])
        if mark["type"] == "tick":
            mark["orient"] = "vertical"
        if mark["type"] in ("tick", "bar"):
            mark["size"] = 15
        turned = {**layer, "mark": mark, "encoding": {**encoding, "y": name}}
        if "params" in turned:
            select = {**_ZOOM["select"], "encodings": ["x"]}
            turned["params"] = [{**_ZOOM, "select": select}]
        layers.append(turned)
    return {"layer": layers, "width": max(width, 300), "height": height}


def _thin(points: Sequence[float], most: int) -> Sequence[float]:
    """At most about `most` of ordered points, evenly by rank; both ends are always among them."""
    if len(points) <= max(2, most):
        return points
    last, steps = len(points) - 1, max(2, most) - 1
    return [points[round(index * last / steps)] for index in range(steps + 1)]


def chart_effect(
    points: Sequence[EffectPoint],
    *,
    title: str,
    unit: str,
    levels: Sequence[str],
    groups: Sequence[str],
    domain: tuple[float, float],
    zero_line: bool,
) -> Chart:
    """One line for each group over the levels of a factor, on a band of its interval."""
    width = min(430, max(104, 52 * len(levels)))
    values = [
        {
            "level": point.level,
            "group": point.group,
            "n": point.n,
            "estimate": point.estimate,
            "low": point.low,
            "high": point.high,
        }
        for point in points
    ]
    x = {
        "field": "level",
        "type": "nominal",
        "sort": list(levels),
        "title": None,
        "axis": {"labelAngle": 0 if _fits(levels, width) else -40, "grid": False, "labelLimit": 110},
        "scale": {"type": "point", "padding": 0.35},
    }
    color = _color("group", groups)
    shape = {
        **_color("group", groups),
        "scale": {
            "domain": list(groups),
            "range": [choose_mark(index).shape for index in range(len(groups))],
        },
    }
    y = {**_number("estimate", title), "scale": {"domain": list(domain), "nice": False, "zero": False}}
    tooltip = [
        {"field": "level", "type": "nominal"},
        *([{"field": "group", "type": "nominal"}] if len(groups) > 1 else []),
        *_name_numbers(unit, estimate="estimate", low="interval from", high="interval to"),
        {"field": "n", "type": "quantitative", "format": ",d"},
    ]
    layers: list[Chart] = []
    if zero_line:
        layers.append(
            {
                "data": {"values": [{"zero": 0}]},
                "mark": {"type": "rule", "color": INK, "opacity": 0.45, "strokeDash": [3, 3], "clip": True},
                "encoding": {"y": _number("zero", title)},
            }
        )
    band = {"x": x, "y": _number("low", title), "y2": {"field": "high"}, "color": color}
    layers += [
        {"mark": {"type": "area", "opacity": 0.22, "clip": True}, "encoding": band},
        {"mark": {"type": "rule", "strokeWidth": 1.5, "clip": True}, "encoding": band},
        {
            "mark": {"type": "line", "strokeWidth": 1.6, "clip": True},
            "params": [_ZOOM],
            "encoding": {"x": x, "y": y, "color": color},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 42, "opacity": 1, "clip": True},
            "encoding": {"x": x, "y": y, "color": color, "shape": shape, "tooltip": tooltip},
        },
    ]
    chart = {"data": {"values": values}, "layer": layers, "width": width, "height": 190}
    return let_choose(chart, "group", groups)


def _break_lines(text: str, pixels: float) -> list[str]:
    """Break a text between words into two lines at most that a panel of so many pixels has room for."""
    letters = max(8, int(pixels / 7))
    return textwrap.wrap(text, letters, break_long_words=False, max_lines=2, placeholder=" …") or [""]


def _fits(labels: Sequence[str], width: float) -> bool:
    """Whether labels fit side by side; a letter takes about 7 pixels."""
    labels = [apply_short_names(label) for label in labels]
    return 7 * (max((len(label) for label in labels), default=0) + 1) * len(labels) <= width


def _number(field: str, title: str | None = None) -> Chart:
    return {"field": field, "type": "quantitative", **({"title": title} if title is not None else {})}


def _name_numbers(unit: str, **titles: str) -> list[Chart]:
    """Lines of a tooltip: numbers with their unit."""
    shown = f" ({unit})" if unit else ""
    return [
        {"field": field, "type": "quantitative", "title": f"{title}{shown}", "format": _DIGITS}
        for field, title in titles.items()
    ]


def _color(field: str, groups: Sequence[str]) -> Chart:
    colors = [choose_mark(index).color for index in range(len(groups))]
    scale = {"domain": list(groups), "range": colors}
    return {"field": field, "type": "nominal", "sort": list(groups), "scale": scale, "legend": None}


def _facet(field: str, levels: Sequence[str], title: str, header: Chart) -> Chart:
    return {"field": field, "type": "nominal", "sort": list(levels), "title": title, "header": header}
