"""The picture of predictions: what was measured, the model's lines, and both intervals around them."""

from __future__ import annotations

from datamill.analysis.prediction.prediction import Predictions
from datamill.experiment.messages.numbers import format_level
from datamill.report.figures.charts import Chart, choose_mark
from datamill.report.figures.figure import Figure
from datamill.report.predict.statement import scale_predictions

#: Measured points that are drawn of each line.
_MOST_POINTS = 400


def draw_predictions(found: Predictions) -> Figure:
    """Draw the response over the first slope: a line for each combination of the other levels."""
    slope, scale, seen = found.slopes[0], scale_predictions(found), found.observations
    names = [" / ".join(value for _, value in curve.levels) or seen.response for curve in found.curves]
    lines: list[Chart] = []
    points: list[Chart] = []
    for name, curve in zip(names, found.curves, strict=True):
        for at, value, new in zip(curve.at, curve.values, curve.news, strict=True):
            lines.append(
                {
                    "group": name, "x": at, "y": value.estimate * scale.factor,
                    "low": value.low * scale.factor, "high": value.high * scale.factor,
                    "below": new.low * scale.factor, "above": new.high * scale.factor,
                }
            )  # fmt: skip
        step = max(1, len(curve.measured) // _MOST_POINTS)
        points += [{"group": name, "x": x, "measured": y * scale.factor} for x, y in curve.measured[::step]]
    drawn = {curve.levels: name for name, curve in zip(names, found.curves, strict=True)}
    asked = []
    for item in found.predictions:
        others = tuple(pair for pair in item.levels if pair[0] != slope.factor)
        if others in drawn:
            asked.append({"group": drawn[others], "x": item.at, "y": item.value.estimate * scale.factor})
    unit = f" ({scale.unit})" if scale.unit else ""
    x = {
        "field": "x",
        "type": "quantitative",
        "title": f"{slope.factor}{f' ({slope.unit})' if slope.unit else ''}",
        "scale": {"type": "log" if slope.scale == "log" else "linear", "zero": False, "nice": False,
                  "padding": 12},
        "axis": {"grid": False, "format": ",.5~r"},
    }  # fmt: skip
    title = f"{seen.response}{unit}"
    marks = [choose_mark(index) for index in range(len(names))]
    color = {
        "field": "group",
        "type": "nominal",
        "sort": names,
        "scale": {"domain": names, "range": [mark.color for mark in marks]},
        "legend": {"title": None, "orient": "top", "symbolType": "square", "symbolOpacity": 1}
        if len(names) > 1
        else None,
    }

    def number(field: str) -> Chart:
        return {"field": field, "type": "quantitative", "title": title, "scale": {"zero": False}}

    def band(low: str, high: str, opacity: float) -> Chart:
        encoding = {"x": x, "y": number(low), "y2": {"field": high}, "color": color}
        return {"mark": {"type": "area", "opacity": opacity}, "encoding": encoding}

    layers: list[Chart] = [
        band("below", "above", 0.12),
        band("low", "high", 0.28),
        {
            "mark": {"type": "line", "strokeWidth": 1.6},
            "encoding": {"x": x, "y": number("y"), "color": color},
        },
    ]
    if points:
        layers.append(
            {
                "data": {"values": points},
                "mark": {"type": "point", "size": 18, "opacity": 0.55},
                "encoding": {"x": x, "y": number("measured"), "color": color},
            }
        )
    layers.append(
        {
            "data": {"values": asked},
            "mark": {"type": "point", "shape": "diamond", "filled": True, "size": 90, "opacity": 1,
                     "stroke": "white", "strokeWidth": 0.8},
            "encoding": {"x": x, "y": number("y"), "color": color},
        }
    )  # fmt: skip
    level = format_level(found.confidence)
    caption = (
        f"a circle is one measured observation, a diamond a prediction. Around each line lies the {level} "
        f"confidence interval of the {'median' if seen.transform else 'mean'} (darker), and the {level} "
        "prediction interval of a single further observation (lighter)."
    )
    chart = {"data": {"values": lines}, "layer": layers, "width": 460, "height": 290}
    return Figure("prediction", f"{seen.response} by {slope.factor}, as predicted", caption, chart)
