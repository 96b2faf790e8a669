"""The figure of a check: measured machines, each predicted from the others."""

from __future__ import annotations

import math
from typing import Any

from datamill.experiment.errors import InputError
from datamill.late import alt
from datamill.platforms.prediction.platform_prediction import HeldOutMachine, PlatformPrediction
from datamill.report.figures.charts import choose_mark
from datamill.report.figures.figure import Figure, leave_room
from datamill.report.platforms.values import PlatformNotes, choose_words

_WIDTH, _STEP = 520, 19


def draw_check(prediction: PlatformPrediction, notes: PlatformNotes) -> Figure:
    """Draw for each machine the measured value over the interval that was predicted from the others.

    Raises:
        InputError: no machine was held out, or none has a prediction.
    """
    words = choose_words(prediction, notes.measured)
    factor = words.scale.factor
    known = [item for item in prediction.check if math.isfinite(item.prediction.seconds)]
    if not known:
        raise InputError("no measured machine was predicted from the others", remedy="The text says why.")
    sign = 1 if prediction.kind == "seconds" else -1
    known.sort(key=lambda item: sign * item.measured)
    order = [_name(item) for item in known]
    spans = [
        {
            "machine": _name(item),
            "low": item.prediction.low * factor,
            "high": item.prediction.high * factor,
        }
        for item in known
        if math.isfinite(item.prediction.high)
    ]
    points: list[dict[str, Any]] = [
        {"machine": _name(item), "kind": kind, "value": value * factor}
        for item in known
        for kind, value in (("predicted", item.prediction.seconds), ("measured", item.measured))
    ]
    values = [*(row["value"] for row in points), *(row[end] for row in spans for end in ("low", "high"))]
    scale = alt.Scale(type="log", domain=[min(values) / 1.05, max(values) * 1.05], nice=False)
    x = alt.X("value:Q", title=words.head, scale=scale, axis=alt.Axis(format="~g", tickCount=6))
    y = alt.Y("machine:N", sort=order, title=None, axis=alt.Axis(labelLimit=260))
    kinds = ["predicted", "measured"]
    colors = alt.Scale(domain=kinds, range=[choose_mark(place).color for place in range(2)])
    shapes = alt.Scale(domain=kinds, range=[choose_mark(place).shape for place in range(2)])
    legend = alt.Legend(orient="top")
    layers: list[Any] = []
    if spans:
        layers.append(
            alt.Chart(alt.InlineData(values=spans))
            .mark_rule(strokeWidth=2.2, opacity=0.75, color=choose_mark(0).color)
            .encode(alt.X("low:Q", title=words.head, scale=scale), y, alt.X2("high:Q"))
        )
    layers.append(
        alt.Chart(alt.InlineData(values=points))
        .mark_point(filled=True, size=62, opacity=1)
        .encode(
            x,
            y,
            color=alt.Color("kind:N", title=None, scale=colors, legend=legend),
            shape=alt.Shape("kind:N", title=None, scale=shapes, legend=legend),
            tooltip=["machine:N", "kind:N", "value:Q"],
        )
    )
    chart = alt.layer(*layers).properties(width=_WIDTH, height=_STEP * len(order))
    text = (
        f"Each machine was predicted from the others, as if {prediction.application} had not been measured "
        "there. "
        f"Lines are {words.level}s: about that share of them should reach the square."
    )
    if any(item.prediction.refused for item in known):
        text += " On machines with (refused) nothing would have been predicted."
    title = f"{prediction.application}: predictions next to measured {words.noun}s"
    return Figure("check", title, text, {**chart.to_dict(), "padding": leave_room(order)})


def _name(item: HeldOutMachine) -> str:
    return f"{item.prediction.machine} (refused)" if item.prediction.refused else item.prediction.machine
