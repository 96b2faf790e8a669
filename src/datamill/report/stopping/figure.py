"""The interval of a sequential experiment against trials: how it narrowed until it was enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from datamill.report.figures.charts import choose_mark, let_zoom
from datamill.report.figures.figure import INK, Figure

#: More looks than this are drawn as evenly chosen ones.
_MOST_LOOKS = 300
#: Fewer looks than this show where each one was.
_FEW_LOOKS = 40
#: Intervals beyond this many times the goal would hide it, and those of the last look are shown whole.
_MOST_GOALS = 6.0
_AROUND_LAST = 1.3


@dataclass(frozen=True, slots=True)
class MonitoredPoint:
    """One interval at one look, in percent; `low` and `high` are None where it was not bounded."""

    trials: int
    series: str
    estimate: float
    low: float | None
    high: float | None


def draw_monitoring(
    points: Sequence[MonitoredPoint], *, title: str, axis: str, goal: float, caption: str
) -> Figure:
    """Draw estimates and intervals against trials, between the lines of the goal at ±`goal` percent.

    Each series has a band of its own colour; the first look at which an interval is bounded begins it.
    """
    series = tuple(dict.fromkeys(point.series for point in points))
    looks = sorted({point.trials for point in points})
    step = max(1, len(looks) // _MOST_LOOKS)
    kept = {*looks[::step], *looks[-1:]}
    values = [
        {
            "trials": point.trials,
            "series": point.series,
            "estimate": point.estimate,
            "low": point.low,
            "high": point.high,
        }
        for point in points
        if point.trials in kept
    ]
    bounds = [bound for point in points for bound in (point.low, point.high) if bound is not None]
    latest = [point for point in points if point.trials == looks[-1]]
    last = [abs(bound) for point in latest for bound in (point.low, point.high) if bound is not None]
    reach = _MOST_GOALS * goal + max((abs(point.estimate) for point in latest), default=0.0)
    reach = max(reach, _AROUND_LAST * max(last, default=0.0))
    low = max(min([*bounds, -goal]), -reach) - 0.02 * reach
    high = min(max([*bounds, goal]), reach) + 0.02 * reach
    color: dict[str, Any] = {
        "field": "series",
        "type": "nominal",
        "title": None,
        "scale": {
            "domain": list(series),
            "range": [choose_mark(index).color for index in range(len(series))],
        },
        "legend": {"orient": "top", "symbolOpacity": 1, "symbolType": "circle"},
    }
    x = {
        "field": "trials",
        "type": "quantitative",
        "title": "trials",
        "axis": {"tickMinStep": 1, "format": ",d"},
        "scale": {"zero": False, "nice": False, "padding": 12},
    }
    scale = {"domain": [low, high], "nice": False}
    tooltip = [
        {"field": "trials", "type": "quantitative", "format": ",d"},
        {"field": "series", "type": "nominal"},
        *(
            {"field": name, "type": "quantitative", "title": f"{shown} (%)", "format": ",.3~r"}
            for name, shown in (("estimate", "estimate"), ("low", "from"), ("high", "to"))
        ),
    ]

    def y(field: str) -> dict[str, Any]:
        return {"field": field, "type": "quantitative", "title": axis, "scale": scale}

    bounded = [{"filter": "isValid(datum.low)"}]
    band = {"x": x, "y": y("low"), "y2": {"field": "high"}, "color": color}
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": [{"goal": place} for place in (-goal, 0.0, goal)]},
            "mark": {"type": "rule", "color": INK, "opacity": 0.5, "strokeDash": [3, 3], "clip": True},
            "encoding": {"y": y("goal")},
        },
        {"transform": bounded, "mark": {"type": "area", "opacity": 0.2, "clip": True}, "encoding": band},
        {
            "transform": bounded,
            "mark": {
                "type": "rule",
                "strokeWidth": 1.5,
                "opacity": 0.6 if len(looks) < _FEW_LOOKS else 0.1,
                "clip": True,
            },
            "encoding": band,
        },
        {
            "mark": {"type": "line", "strokeWidth": 1.6, "clip": True},
            "encoding": {"x": x, "y": y("estimate"), "color": color},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 22, "opacity": 1, "clip": True},
            "encoding": {"x": x, "y": y("estimate"), "color": color, "tooltip": tooltip},
        },
    ]
    chart = {"data": {"values": values}, "layer": layers, "width": 620, "height": 240}
    return Figure("monitoring", title, caption, let_zoom(chart))
