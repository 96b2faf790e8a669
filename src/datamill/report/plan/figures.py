"""Figures of plans: interval width against time, and false alarms by the number of builds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from datamill.analysis.repetition.repetition_plan import RepetitionPlan, WidthCurve
from datamill.analysis.versions.false_alarms import FalseAlarms
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_level
from datamill.late import alt
from datamill.report.figures.charts import choose_dash, choose_mark
from datamill.report.figures.figure import INK, Figure
from datamill.report.plan.statement import PlanNotes
from datamill.report.words.scales import Scale, choose_scale

_TIMES = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"), (1e-3, "milliseconds"))


def draw_widths(notes: PlanNotes, plan: RepetitionPlan, curves: Sequence[WidthCurve]) -> Figure:
    """Draw the half-width of the interval against the time spent, on logarithmic axes, with the plan.

    Raises:
        InputError: nothing varies, so that there is no width to draw.
    """
    points = [
        (curve.label, time, width, text)
        for curve in curves
        for time, width, text in zip(curve.times, curve.half_widths, curve.repetitions, strict=True)
        if width > 0 and math.isfinite(width)
    ]
    if not points:
        raise InputError("nothing varies, so that there is no width to draw", remedy="The text says why.")
    best_time = plan.best.time / plan.versions
    time_size, time_name = next((item for item in _TIMES if best_time >= item[0]), _TIMES[-1])
    if not notes.timed:
        time_size, time_name = 1.0, "measured operations"
    width_scale = _choose_width_scale(notes, plan)
    labels = list(dict.fromkeys(label for label, *_ in points))
    rows = [
        {"way": label, "time": time / time_size, "width": width * width_scale.factor, "counts": text}
        for label, time, width, text in points
    ]
    of = " for one version" if plan.versions > 1 else ""
    x = alt.X(
        "time:Q",
        title=f"time{of} ({time_name})" if notes.timed else f"{time_name}{of}",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~g", labelOverlap=True, tickCount=6),
    )
    level = format_level(plan.goal.confidence)
    y = alt.Y(
        "width:Q",
        title=f"half-width of the {level} interval ({width_scale.unit})",
        scale=alt.Scale(type="log", nice=True),
        axis=alt.Axis(format="~g", labelOverlap=True, tickCount=6),
    )
    color = alt.Color(
        "way:N",
        sort=labels,
        title=None,
        scale=alt.Scale(domain=labels, range=[choose_mark(at).color for at in range(len(labels))]),
        legend=alt.Legend(orient="top", columns=1, labelLimit=400, symbolType="stroke", symbolSize=400),
    )
    dash = alt.StrokeDash(
        "way:N",
        sort=labels,
        title=None,
        scale=alt.Scale(domain=labels, range=[choose_dash(at) for at in range(len(labels))]),
        legend=alt.Legend(orient="top", columns=1, labelLimit=400, symbolType="stroke", symbolSize=400),
    )
    base = alt.Chart(alt.InlineData(values=rows))
    tooltip = ["way:N", "counts:N", "time:Q", "width:Q"]
    layers: list[Any] = [
        base.mark_line(strokeWidth=2, interpolate="step-after").encode(x, y, color, dash, tooltip=tooltip),
        base.mark_point(size=14, filled=True, opacity=1).encode(x, y, color, tooltip=tooltip),
    ]
    if plan.goal.kind == "half_width":
        target = [{"width": plan.goal.value * width_scale.factor}]
        layers.append(_rule(target, y="width:Q"))
    if plan.goal.kind == "time":
        layers.append(_rule([{"time": plan.goal.value / plan.versions / time_size}], x="time:Q"))
    if plan.best.half_width > 0:
        chosen = [
            {
                "time": best_time / time_size,
                "width": plan.best.half_width * width_scale.factor,
                "counts": f"{plan.best.builds} × {plan.best.executions} × {plan.best.measurements}",
            }
        ]
        spot = alt.Chart(alt.InlineData(values=chosen)).encode(alt.X("time:Q"), alt.Y("width:Q"))
        layers.append(
            spot.mark_point(size=130, strokeWidth=2.5, color=INK, opacity=1).encode(tooltip="counts:N")
        )
        layers.append(spot.mark_text(align="right", dx=-12, dy=14, fontWeight="bold").encode(text="counts:N"))
    chart = alt.layer(*layers).properties(width=520, height=320)
    text = (
        "Each line is one way to spend time; lower is better. The circle is the plan (builds × executions × "
        "measurements), the dashed line what was asked for."
    )
    if any(curve.label.startswith("one build") for curve in curves):
        text += (
            " With one build alone the uncertainty does not fall below what builds differ by, however long "
            "it is measured (drawn with a normal interval, since the data give no estimate of it)."
        )
    return Figure("plan-widths", f"Interval width of {notes.response} against time", text, chart.to_dict())


def _choose_width_scale(notes: PlanNotes, plan: RepetitionPlan) -> Scale:
    if plan.basis.mean:
        return Scale(100 / abs(plan.basis.mean), "% of the mean")
    scale = choose_scale(notes.unit, plan.best.half_width or 1.0)
    return Scale(scale.factor, scale.unit or "the unit of the response")


def _rule(values: list[dict[str, float]], **place: str) -> Any:
    return (
        alt.Chart(alt.InlineData(values=values))
        .mark_rule(strokeDash=[5, 4], color=INK, opacity=0.6)
        .encode(**{name: (alt.X if name == "x" else alt.Y)(field) for name, field in place.items()})
    )


def draw_alarms(alarms: FalseAlarms) -> Figure:
    """Draw false alarms in percent by the number of builds, one line for each rule (EPEW 2006, Figure 2)."""
    rules = {
        "overlap": "intervals of builds part (the paper)",
        "welch": "Welch's test of build means",
        "overlap_executions": "intervals of executions part",
        "welch_executions": "Welch's test of executions",
    }
    rows = []
    for row in alarms.rows:
        for field, label in rules.items():
            rate = getattr(row, field)
            if rate is not None:
                rows.append(
                    {
                        "rule": label,
                        "builds": row.builds,
                        "alarms": 100 * rate.estimate,
                        "low": 100 * rate.low,
                        "high": 100 * rate.high,
                        "drawn": "all builds differ" if row.disjoint else "drawn with replacement",
                    }
                )
    if not rows:
        raise InputError("no rule is defined for these data", remedy="The text says why.")
    labels = [label for label in rules.values() if any(row["rule"] == label for row in rows)]
    marks = [choose_mark(at) for at in range(len(labels))]
    x = alt.X(
        "builds:Q",
        title="builds of each version",
        axis=alt.Axis(values=[row.builds for row in alarms.rows], format="d"),
    )
    y = alt.Y("alarms:Q", title="false alarms (%)", scale=alt.Scale(domainMin=0, nice=True))
    color = alt.Color(
        "rule:N",
        sort=labels,
        title=None,
        scale=alt.Scale(domain=labels, range=[mark.color for mark in marks]),
        legend=alt.Legend(orient="top", columns=1, labelLimit=400),
    )
    shape = alt.Shape(
        "rule:N",
        sort=labels,
        title=None,
        scale=alt.Scale(domain=labels, range=[mark.shape for mark in marks]),
        legend=alt.Legend(orient="top", columns=1, labelLimit=400),
    )
    base = alt.Chart(alt.InlineData(values=rows))
    layers = [
        _rule([{"alarms": 100 * alarms.alpha}], y="alarms:Q"),
        base.mark_line(strokeWidth=1.8).encode(x, y, color),
        base.mark_rule(strokeWidth=1.5).encode(
            x, alt.Y("low:Q", title="false alarms (%)"), alt.Y2("high:Q"), color
        ),
        base.transform_filter("datum.drawn == 'all builds differ'")
        .mark_point(filled=True, size=55, opacity=1)
        .encode(x, y, color, shape, tooltip=["rule:N", "builds:Q", "alarms:Q", "low:Q", "high:Q", "drawn:N"]),
    ]
    text = (
        f"How often {alarms.version} seems to differ from itself. The dashed line is how often a test at "
        "this level should err; bars are 95% intervals of the simulation."
    )
    if any(not row.disjoint for row in alarms.rows):
        layers.append(
            base.transform_filter("datum.drawn != 'all builds differ'")
            .mark_point(filled=False, size=55, opacity=1)
            .encode(
                x, y, color, shape, tooltip=["rule:N", "builds:Q", "alarms:Q", "low:Q", "high:Q", "drawn:N"]
            )
        )
        text += " At hollow points builds were drawn with replacement."
    chart = alt.layer(*layers).properties(width=520, height=300)
    return Figure("false-alarms", f"False alarms in {alarms.response} by builds", text, chart.to_dict())
