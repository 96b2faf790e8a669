"""Figures of the binning effect: every call by its index, and densities on a logarithmic axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from datamill.allocators.binning.binning_effect import BinningEffect
from datamill.analysis.model_data.cells import FloatArray, IntArray
from datamill.experiment.messages.numbers import format_count
from datamill.late import alt
from datamill.report.allocators.binning.statement import choose_call_scale
from datamill.report.figures.charts import choose_mark, let_zoom, needs_log_axis
from datamill.report.figures.figure import Figure

#: Points of each group that one figure shows; half of them are the slowest.
_MOST_POINTS = 2500
_NAMES = ("fast", "binned")


def draw_calls(effect: BinningEffect) -> Figure:
    """Draw latency by index, binned calls as triangles (thesis 2019, Figures 2.1a, 2.3a, 2.8a and 2.11)."""
    calls, scale = effect.calls, choose_call_scale(effect)
    is_binned = calls.binned > 0
    values: list[dict[str, Any]] = []
    left_out = 0
    positive = calls.latency > 0
    log = needs_log_axis(float(np.min(calls.latency[positive], initial=np.inf)), float(np.max(calls.latency)))
    for name, chosen in zip(_NAMES, (~is_binned, is_binned), strict=True):
        rows = np.flatnonzero(chosen & positive if log else chosen)
        shown = _choose(calls.latency, rows)
        left_out += int(np.count_nonzero(chosen)) - shown.size
        values += [
            {
                "index": float(calls.index[row]),
                "latency": float(calls.latency[row]) * scale.factor,
                "call": name,
            }
            for row in shown
        ]
    marks = [choose_mark(0), choose_mark(1)]
    unit = f" ({scale.unit})" if scale.unit else ""
    axis: dict[str, Any] = {}
    if log:
        shown_values = [value["latency"] for value in values]
        domain = [min(shown_values) / 1.3, max(shown_values) * 1.3]
        axis = {
            "scale": alt.Scale(type="log", domain=domain, nice=False),
            "axis": alt.Axis(format="~g", tickCount=6),
        }
    chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_point(filled=True, opacity=0.6, size=26)
        .encode(
            alt.X("index:Q", title="index of the call", axis=alt.Axis(grid=False)),
            alt.Y("latency:Q", title=f"{effect.observations.response}{unit}", **axis),
            alt.Color(
                "call:N", title="call", scale=alt.Scale(domain=_NAMES, range=[mark.color for mark in marks])
            ),
            alt.Shape(
                "call:N", title="call", scale=alt.Scale(domain=_NAMES, range=["circle", "triangle-up"])
            ),
            tooltip=["index:Q", alt.Tooltip("latency:Q", format=",.5~r"), "call:N"],
        )
        .properties(width=640, height=300)
    )
    text = (
        f"Each dot is a call, in the order in which they came; triangles are the "
        f"{format_count(effect.binned.n)} binned ones. Look whether slow calls are binned, and how "
        "regularly they come."
    )
    if left_out:
        text += (
            f" {format_count(left_out)} of {format_count(calls.latency.size)} calls are not drawn: the "
            "slowest of each kind are, and the others are thinned out evenly."
        )
    title = f"{effect.observations.response} of every call"
    return Figure("calls-by-index", title, text, let_zoom(chart.to_dict()))


def _choose(latency: FloatArray, rows: IntArray) -> IntArray:
    """Rows to be drawn: all, or the slowest and of the others every so many-th."""
    if rows.size <= _MOST_POINTS:
        return rows
    half = _MOST_POINTS // 2
    order = rows[np.argsort(latency[rows], kind="stable")]
    rest = np.sort(order[:-half])
    return np.concatenate([rest[:: -(-rest.size // half)], order[-half:]])


def draw_densities(effect: BinningEffect) -> Figure:
    """Draw densities of both kinds of calls on a logarithmic axis (thesis 2019, Figures 2.3b and 2.8b)."""
    scale = choose_call_scale(effect)
    values = [
        {"latency": float(at) * scale.factor, "density": float(value), "call": density.name}
        for density in effect.densities
        for at, value in zip(density.at, density.density, strict=True)
        if value > 1e-5
    ]
    unit = f" ({scale.unit})" if scale.unit else ""
    colors = [choose_mark(0).color, choose_mark(1).color]
    chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_area(opacity=0.35, line={"strokeWidth": 1.6})
        .encode(
            alt.X(
                "latency:Q",
                title=f"{effect.observations.response}{unit}",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format="~g", tickCount=6),
            ),
            alt.Y("density:Q", title="density per decade", stack=None, axis=alt.Axis(grid=False)),
            alt.Color("call:N", title="call", scale=alt.Scale(domain=_NAMES, range=colors)),
            tooltip=[
                "call:N",
                alt.Tooltip("latency:Q", format=",.4~r"),
                alt.Tooltip("density:Q", format=".3~r"),
            ],
        )
        .properties(width=640, height=240)
    )
    text = (
        f"Densities of the {format_count(effect.fast.n)} fast and the {format_count(effect.binned.n)} "
        "binned calls, "
        "each with an area of one, over the logarithm of latency. Where they hardly overlap, binning tells "
        "slow "
        "calls from fast ones."
    )
    left_out = sum(density.left_out for density in effect.densities)
    if left_out:
        text += f" {format_count(left_out)} calls of zero latency are not in them."
    return Figure("densities", f"Density of {effect.observations.response}", text, chart.to_dict())
