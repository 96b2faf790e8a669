"""The figure of a screening: every effect with its interval, the strongest first."""

from __future__ import annotations

from datamill.analysis.answer.screening import SMALLEST_SHARE, FactorEffect, Screening
from datamill.experiment.messages.numbers import format_level
from datamill.report.figures.charts import Chart, choose_mark, let_zoom
from datamill.report.figures.figure import INK, Figure
from datamill.report.words.scales import Scale

_ROW_HEIGHT = 22


def draw_screening(screening: Screening, response: str, scale: Scale) -> Figure:
    """Draw effects in percent of the mean, or in the response's unit where some has no percentage."""
    relative = all(effect.percent is not None for effect in screening.effects)
    factors = list(dict.fromkeys(effect.factor for effect in screening.effects))
    packages = [error.package for error in screening.errors]
    values = [_describe(effect, relative, scale) for effect in screening.effects]
    unit = "% of the mean" if relative else scale.unit
    title = f"change of {response} from the low to the high level" + (f" ({unit})" if unit else "")
    marks = [choose_mark(index) for index in range(len(packages))]
    y: Chart = {
        "field": "factor",
        "type": "nominal",
        "sort": factors,
        "title": None,
        "axis": {"grid": True, "labelLimit": 220},
    }
    offset: Chart = {}
    if len(packages) > 1:
        offset = {"yOffset": {"field": "package", "type": "nominal", "sort": packages}}
    legend = {"title": None, "orient": "top"} if len(packages) > 1 else None
    color = {
        "field": "package",
        "type": "nominal",
        "scale": {"domain": packages, "range": [mark.color for mark in marks]},
        "legend": legend,
    }
    filled = {"condition": {"test": "datum.detected", "value": 1}, "value": 0.0}
    tooltip = [
        {"field": "factor", "type": "nominal"},
        {"field": "package", "type": "nominal"},
        {"field": "levels", "type": "nominal"},
        *(
            {"field": field, "type": "quantitative", "title": f"{name} ({unit})", "format": ",.4~r"}
            for field, name in (("estimate", "change"), ("low", "interval from"), ("high", "interval to"))
        ),
        {"field": "verdict", "type": "nominal"},
    ]
    x: Chart = {"type": "quantitative", "title": title, "scale": {"zero": True}}
    layers: list[Chart] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2, "clip": True},
            "encoding": {
                "y": y,
                **offset,
                "x": {**x, "field": "low"},
                "x2": {"field": "high"},
                "color": color,
                "tooltip": tooltip,
            },
        },
        {
            "mark": {"type": "point", "size": 55, "strokeWidth": 1.6, "clip": True},
            "encoding": {
                "y": y,
                **offset,
                "x": {**x, "field": "estimate"},
                "color": color,
                "fill": color,
                "fillOpacity": filled,
                "tooltip": tooltip,
            },
        },
    ]
    lines = [0.0] if not relative else [-100 * SMALLEST_SHARE, 0.0, 100 * SMALLEST_SHARE]
    for at in lines:
        layers.append(
            {
                "data": {"values": [{"at": at}]},
                "mark": {
                    "type": "rule",
                    "color": INK,
                    "opacity": 0.6 if at == 0 else 0.3,
                    "strokeDash": [] if at == 0 else [3, 3],
                    "clip": True,
                },
                "encoding": {"x": {**x, "field": "at"}},
            }
        )
    chart = {
        "data": {"values": values},
        "layer": layers,
        "width": 560,
        "height": max(60, _ROW_HEIGHT * len(factors) * max(1, len(packages))),
    }
    caption = (
        f"each line is the {format_level(screening.confidence)} interval of one factor's effect, by "
        "itself; a filled point was detected, a hollow one was not."
    )
    if relative:
        caption += f" The dashed lines are at {format_level(SMALLEST_SHARE)} of the mean."
    return Figure("screening", f"Effects of the factors screened on {response}", caption, let_zoom(chart))


def _describe(effect: FactorEffect, relative: bool, scale: Scale) -> dict[str, object]:
    value, factor = effect.effect, scale.factor
    if relative and effect.percent is not None:
        value, factor = effect.percent, 1.0
    return {
        "factor": effect.factor,
        "package": effect.package,
        "levels": f"{effect.low} to {effect.high}",
        "estimate": value.estimate * factor,
        "low": value.low * factor,
        "high": value.high * factor,
        "detected": effect.detected,
        "verdict": "detected" if effect.detected else "not detected",
    }
