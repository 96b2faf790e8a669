"""The picture of a dimension of hardware: a point a machine, the mean of each level with its interval."""

from __future__ import annotations

import math

from datamill.analysis.hardware.dimension import DimensionAnalysis
from datamill.experiment.messages.numbers import format_level
from datamill.report.figures.charts import Chart, choose_mark
from datamill.report.figures.figure import INK, Figure
from datamill.report.hardware.statement import scale_machines

#: From this ratio of the largest to the smallest machine on, ratios are drawn as distances.
_LOG_RATIO = 3.0
#: Share of the axis below which two names would lie upon each other.
_CLOSE = 0.045


def draw_dimension(found: DimensionAnalysis) -> Figure:
    """Draw the machines by level of the dimension, and each level's mean on its interval."""
    scale = scale_machines(found)
    levels = [item.level for item in found.main.levels]
    points = [
        {"level": item.level, "machine": item.machine, "value": item.value * scale.factor, "n": item.n}
        for item in found.machines
    ]
    shown = [point["value"] for point in points if isinstance(point["value"], float)]
    log = found.scale == "log" and max(shown) / min(shown) >= _LOG_RATIO

    def take(value: float) -> float:
        return (math.exp(min(value, 700.0)) if found.scale == "log" else value) * scale.factor

    # An interval that leaves the picture would leave no room for the machines.
    reach = (min(shown) / 4, max(shown) * 4) if found.scale == "log" else (-math.inf, math.inf)
    means = [
        {
            "level": item.level,
            "mean": take(item.estimate),
            **(
                {}
                if item.interval is None
                else {
                    "low": max(reach[0], take(item.interval.low)),
                    "high": min(reach[1], take(item.interval.high)),
                }
            ),
        }
        for item in found.main.levels
    ]
    unit = f" ({scale.unit})" if scale.unit else ""
    title = f"{found.response}{unit}"
    y_scale: Chart = {"type": "log" if log else "linear", "zero": False, "nice": False, "padding": 14}

    def number(field: str) -> Chart:
        axis = {"format": ",.4~r"}
        return {"field": field, "type": "quantitative", "title": title, "scale": y_scale, "axis": axis}

    x: Chart = {
        "field": "level", "type": "nominal", "sort": levels, "title": found.dimension, "axis": {"labelAngle":
        0, "grid": False, "labelLimit": 150}, "scale": {"type": "point", "padding": 0.6},
    }  # fmt: skip
    colors = {"domain": levels, "range": [choose_mark(index).color for index in range(len(levels))]}
    color: Chart = {"field": "level", "type": "nominal", "scale": colors, "legend": None}
    tooltip = [
        {"field": "machine", "type": "nominal"},
        {"field": "value", "type": "quantitative", "title": title, "format": ",.5~r"},
        {"field": "n", "type": "quantitative", "format": ",d"},
    ]
    layers: list[Chart] = [
        {
            "data": {"values": points},
            "mark": {"type": "point", "size": 46, "filled": True, "opacity": 0.8},
            "encoding": {"x": x, "y": number("value"), "color": color, "tooltip": tooltip},
        },
        {
            "data": {"values": _join_names(found, scale.factor, log=log)},
            "mark": {"type": "text", "align": "left", "dx": 16, "fontSize": 11, "color": INK},
            "encoding": {"x": x, "y": number("value"), "text": {"field": "machine", "type": "nominal"}},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 1.6, "xOffset": -16},
            "encoding": {"x": x, "y": number("low"), "y2": {"field": "high"}, "color": color},
        },
        {
            "mark": {
                "type": "point", "shape": "diamond", "size": 100, "filled": True, "opacity": 1, "xOffset":
                -16,
            },
            "encoding": {"x": x, "y": number("mean"), "color": color},
        },
    ]  # fmt: skip
    level = format_level(found.confidence)
    kind = "geometric mean" if found.scale == "log" else "mean"
    caption = (
        f"a point is a machine's {kind} over the combinations of the other factors, with its name; a "
        "diamond "
        f"the {kind} of a level's machines, a bar its {level} interval"
        + (
            ", from the spread of machines."
            if found.told_apart
            else ": none, since each level has one machine."
        )
    )
    width = max(260, 170 * len(levels))
    chart: Chart = {"data": {"values": means}, "layer": layers, "width": width, "height": 300}
    return Figure("hardware", f"{found.response} by {found.dimension}", caption, chart)


def _join_names(found: DimensionAnalysis, factor: float, *, log: bool) -> list[Chart]:
    """The machines' names where they are to stand; those of machines that lie close are one text."""

    def place(value: float) -> float:
        return math.log(value) if log else value

    values = [item.value for item in found.machines]
    close = _CLOSE * (place(max(values)) - place(min(values)))
    names: list[Chart] = []
    for level in dict.fromkeys(item.level for item in found.machines):
        own = sorted((item for item in found.machines if item.level == level), key=lambda item: item.value)
        last = -math.inf
        for item in own:
            if place(item.value) - last < close:
                names[-1]["machine"] += f", {item.machine}"
            else:
                names.append({"level": level, "machine": item.machine, "value": item.value * factor})
                last = place(item.value)
    return names
