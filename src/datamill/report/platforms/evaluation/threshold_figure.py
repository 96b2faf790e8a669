"""What discarding models that fit badly does to errors (thesis 2015, Figure 7.8)."""

from __future__ import annotations

from typing import Any

from datamill.experiment.errors import InputError
from datamill.late import alt
from datamill.platforms.evaluation.platform_evaluation import PlatformEvaluation
from datamill.platforms.evaluation.thresholds import ThresholdCurve
from datamill.report.figures.figure import Figure

#: Lines of a panel with their colours.
_LINES = {
    "worst": "#c4504a",
    "99th percentile": "#dd7f1e",
    "95th percentile": "#2f7ec1",
    "models left": "#2f9e78",
}


def draw_thresholds(evaluation: PlatformEvaluation) -> Figure:
    """Percentiles of errors and the share of models left over thresholds on adjusted R², a panel a strategy.

    Raises:
        InputError: no model has an adjusted R².
    """
    curves = [curve for curve in evaluation.thresholds if curve.thresholds and not curve.variant.limit]
    if not curves:
        raise InputError("no model has an adjusted R² to set a threshold on", remedy="Draw another picture.")
    chart = alt.concat(*(_chart_curve(curve) for curve in curves), columns=2, spacing=24)
    text = (
        f"Models from {evaluation.at} machines are discarded where their adjusted R² is below the threshold. "
        "The lines show how far those that are left err (left axis, logarithmic), the green one how many are "
        "left (right axis). A threshold helps where errors fall long before the green line does."
    )
    return Figure("thresholds", "Error of models left by threshold on adjusted R²", text, chart.to_dict())


def _chart_curve(curve: ThresholdCurve) -> Any:
    rows = [
        {"threshold": item.adjusted_r2, "line": line, "value": 100 * value, "models": item.models}
        for item in curve.thresholds
        for line, value in (
            ("worst", item.worst),
            ("99th percentile", item.percentile_99.estimate),
            ("95th percentile", item.percentile_95.estimate),
            ("models left", item.share.estimate),
        )
    ]
    color = alt.Color(
        "line:N",
        scale=alt.Scale(domain=list(_LINES), range=list(_LINES.values())),
        sort=list(_LINES),
        legend=alt.Legend(title=None, orient="top"),
    )
    # What fits worst lies far from the rest: an axis from there would leave no room for what matters.
    thresholds = sorted(item.adjusted_r2 for item in curve.thresholds)
    low = max(thresholds[0], thresholds[len(thresholds) // 2] - 8 * (1 - thresholds[len(thresholds) // 2]) - 0.05)
    x = alt.X(
        "threshold:Q",
        title="adjusted R² at least",
        scale=alt.Scale(domain=[low, max(thresholds[-1], low + 1e-9)], nice=False, zero=False, clamp=True),
        axis=alt.Axis(tickCount=5, labelOverlap=True),
    )
    base = alt.Chart(alt.InlineData(values=rows)).mark_line(
        strokeWidth=1.8, interpolate="step-before", point={"size": 12}
    )
    tooltip = ["line:N", "threshold:Q", "value:Q", "models:Q"]
    errors = base.transform_filter("datum.line != 'models left'").encode(
        x,
        alt.Y("value:Q", title="error in % of the mean time", scale=alt.Scale(type="log", nice=False)),
        color,
        tooltip=tooltip,
    )
    left = base.transform_filter("datum.line == 'models left'").encode(
        x,
        alt.Y(
            "value:Q",
            title="models left (%)",
            scale=alt.Scale(domain=[0, 100]),
            axis=alt.Axis(orient="right", grid=False),
        ),
        color,
        tooltip=tooltip,
    )
    return (
        alt.layer(errors, left)
        .resolve_scale(y="independent")
        .properties(width=330, height=230, title=curve.variant.label)
    )
