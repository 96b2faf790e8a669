"""What discarding models that fit badly does to errors (thesis 2015, Figure 7.8)."""

from __future__ import annotations

import math
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
#: The nearest to 1 that an adjusted R² is drawn at, and how the axis spells it.
_NEAREST = 1e-12
_LABEL = (
    "datum.value >= 9.9e-5 ? replace(format(1 - datum.value, '~g'), '-', '−') "
    ": '1 − ' + format(datum.value, '.0e')"
)


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
        {
            "threshold": item.adjusted_r2,
            "missing": max(1 - item.adjusted_r2, _NEAREST),
            "line": line,
            "value": 100 * value,
            "models": item.models,
        }
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
    ends = [max(1 - item.adjusted_r2, _NEAREST) for item in curve.thresholds]
    domain = [max(ends) * 1.1, min(ends) / 1.1]
    powers = range(math.floor(math.log10(domain[1])), math.ceil(math.log10(domain[0])) + 1)
    steps = [step * 10.0**power for power in powers for step in ((1,) if len(powers) > 3 else (1, 3))]
    x = alt.X(
        "missing:Q",
        title="adjusted R² at least",
        # On a linear axis all that matters would lie just below 1.
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=alt.Axis(values=[value for value in steps if domain[1] <= value <= domain[0]], labelExpr=_LABEL),
    )
    base = alt.Chart(alt.InlineData(values=rows)).mark_line(
        strokeWidth=1.8, interpolate="linear", point={"size": 12}
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
