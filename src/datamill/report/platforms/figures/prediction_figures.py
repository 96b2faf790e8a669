"""Figures of predictions: each machine's value with its interval, and the weights that carry them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from datamill.experiment.errors import InputError
from datamill.late import alt
from datamill.platforms.prediction.platform_prediction import Carrier, PlatformPrediction
from datamill.report.figures.charts import choose_mark
from datamill.report.figures.figure import INK, Figure, leave_room
from datamill.report.platforms.values import PlatformNotes, choose_words, order_predictions

_MOST_MACHINES, _MOST_REFUSED, _MOST_CARRIERS = 40, 8, 20
_WIDTH, _STEP = 520, 17
_KINDS = ("predicted", "measured", "refused")


def draw_prediction(prediction: PlatformPrediction, notes: PlatformNotes) -> Figure:
    """Draw the value on each machine with its interval: predicted, measured, and what is refused.

    Raises:
        InputError: no machine has a value.
    """
    words = choose_words(prediction, notes.measured)
    kept, refused = order_predictions(prediction.predictions, prediction.kind)
    factor = words.scale.factor
    rows: list[dict[str, Any]] = [
        {"machine": item.machine, "kind": "predicted", "value": item.seconds * factor}
        | ({"low": item.low * factor, "high": item.high * factor} if math.isfinite(item.high) else {})
        for item in kept
    ]
    rows += [
        {"machine": item.machine, "kind": "measured", "value": item.value * factor} for item in notes.measured
    ]
    sign = 1 if prediction.kind == "seconds" else -1
    rows.sort(key=lambda row: sign * row["value"])
    shown = _thin(rows)
    # Few refused machines are named, so that nobody misses them; what would have been said is not drawn.
    if len(refused) <= _MOST_REFUSED:
        shown += [{"machine": item.machine, "kind": "refused", "note": "refused"} for item in refused]
    values = [number for row in shown for key in ("value", "low", "high") if (number := row.get(key))]
    if not values:
        raise InputError("no machine has a value that could be drawn", remedy="The text says why.")
    order = [str(row["machine"]) for row in shown]
    colors = [choose_mark(0).color, choose_mark(1).color, INK]
    domain = [min(values) / 1.05, max(values) * 1.05]
    for row in shown:
        row.setdefault("at", domain[0])
    scale = alt.Scale(type="log", domain=domain, nice=False)
    x = alt.X("value:Q", title=words.head, scale=scale, axis=alt.Axis(format="~g", tickCount=6))
    y = alt.Y("machine:N", sort=order, title=None, axis=alt.Axis(labelLimit=260))
    kinds = [kind for kind in _KINDS[:2] if any(row["kind"] == kind for row in shown)]
    color = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=kinds, range=[colors[_KINDS.index(kind)] for kind in kinds]),
        legend=alt.Legend(orient="top") if len(kinds) > 1 else None,
    )
    shape = alt.Shape(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=kinds, range=[choose_mark(_KINDS.index(kind)).shape for kind in kinds]),
        legend=alt.Legend(orient="top") if len(kinds) > 1 else None,
    )
    spans = [row for row in shown if "low" in row]
    layers: list[Any] = []
    if spans:
        layers.append(
            alt.Chart(alt.InlineData(values=spans))
            .mark_rule(strokeWidth=2.2, opacity=0.75)
            .encode(alt.X("low:Q", title=words.head, scale=scale), y, alt.X2("high:Q"), color=color)
        )
    layers.append(
        alt.Chart(alt.InlineData(values=[row for row in shown if "value" in row]))
        .mark_point(filled=True, size=62, opacity=1)
        .encode(x, y, color=color, shape=shape, tooltip=["machine:N", "kind:N", "value:Q", "low:Q", "high:Q"])
    )
    if any(row["kind"] == "refused" for row in shown):
        layers.append(
            alt.Chart(alt.InlineData(values=[row for row in shown if row["kind"] == "refused"]))
            .mark_text(align="left", dx=4, fontStyle="italic", opacity=0.7)
            .encode(alt.X("at:Q", title=words.head, scale=scale), y, text="note:N")
        )
    chart = alt.layer(*layers).properties(width=_WIDTH, height=_STEP * len(order))
    text = f"Points are predictions, lines their {words.level}s; the axis is logarithmic."
    if len(rows) > len([row for row in shown if "value" in row]):
        text += f" {len([row for row in shown if 'value' in row])} of {len(rows)} machines are drawn."
    if refused:
        text += f" Nothing is predicted on {len(refused)}: the text says why."
    title = f"{prediction.application}: predicted {words.noun} by machine"
    return Figure("predictions", title, text, {**chart.to_dict(), "padding": leave_room(order)})


def draw_carriers(carriers: Sequence[Carrier], kind: str) -> Figure:
    """Draw the share of each benchmark, or of each machine, in the predictions, the largest first.

    Raises:
        InputError: none has a share.
    """
    shown = [item for item in sorted(carriers, key=lambda item: -item.share) if item.share > 0]
    if not shown:
        raise InputError(f"nothing is known of the shares of {kind}", remedy="The text says what is known.")
    rows = [{"name": item.name, "share": 100 * item.share} for item in shown[:_MOST_CARRIERS]]
    order = [str(row["name"]) for row in rows]
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(color=choose_mark(0).color, opacity=0.85)
        .encode(
            alt.X("share:Q", title="share of the prediction (%)"),
            alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=260)),
            tooltip=["name:N", "share:Q"],
        )
        .properties(width=_WIDTH, height=_STEP * len(rows))
    )
    text = f"How much each of the {kind} counts in the predictions."
    if len(shown) > len(rows):
        text += f" The first {len(rows)} of {len(shown)} are drawn."
    return Figure(
        f"{kind}-shares",
        f"{kind.capitalize()} that carry the predictions",
        text,
        {**chart.to_dict(), "padding": leave_room(order)},
    )


def _thin(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All rows, or of many the measured ones and others evenly over the whole range."""
    if len(rows) <= _MOST_MACHINES:
        return list(rows)
    measured = sum(row["kind"] == "measured" for row in rows)
    room = max(2, _MOST_MACHINES - measured)
    others = [row for row in rows if row["kind"] != "measured"]
    places = {round(index * (len(others) - 1) / (room - 1)) for index in range(room)}
    kept = {id(others[place]) for place in places}
    return [row for row in rows if row["kind"] == "measured" or id(row) in kept][: 2 * _MOST_MACHINES]
