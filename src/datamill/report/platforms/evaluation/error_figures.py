"""Errors by the number of training machines: boxes, means, and limits on predictors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_level
from datamill.late import alt
from datamill.platforms.evaluation.platform_evaluation import PlatformEvaluation
from datamill.platforms.evaluation.size_errors import SizeErrors
from datamill.report.figures.figure import Figure
from datamill.report.platforms.evaluation.variant_colors import (
    ERROR_TITLE,
    bound_errors,
    color_variants,
    list_errors,
    list_unlimited,
    scale_log,
)

#: Points beyond whiskers that one box shows; its worst model is always among them.
_MOST_POINTS = 12
_WIDEST, _BOX = 900, 13


def draw_errors(evaluation: PlatformEvaluation) -> Figure:
    """Box plots of the models' errors by training size, a colour a strategy (thesis 2015, Figure 7.6).

    Raises:
        InputError: no strategy predicts anything.
    """
    variants = list_unlimited(evaluation)
    labels = [variant.label for variant in variants]
    errors = list_errors(evaluation, variants)
    chart = _chart_boxes(
        [(str(item.size), item) for item in errors],
        order=[str(size) for size in evaluation.plan.sizes],
        labels=labels,
        among=labels,
        x_title="machines to train on",
        ends=bound_errors(errors),
    )
    text = (
        f"Each box is all models of one strategy from so many of {len(evaluation.plan.machines)} machines, "
        f"for {len(evaluation.plan.applications)} applications: the middle half, the median, and whiskers of "
        "1.5 boxes; dots are some of the models beyond, the worst always among them. The axis is "
        "logarithmic; whiskers that would leave it end at it."
    )
    return Figure(
        "errors-by-size", "Error of predictions by number of training machines", text, chart.to_dict()
    )


def draw_limits(evaluation: PlatformEvaluation) -> Figure:
    """Box plots of errors by the limit on predictors, a panel a training size (thesis 2015, Figure 7.9).

    Raises:
        InputError: no limits were asked for.
    """
    variants = [variant for variant in evaluation.plan.variants if variant.limit]
    if not variants:
        raise InputError(
            "no limits on predictors were evaluated", remedy="Ask for some, or draw another picture."
        )
    errors = list_errors(evaluation, variants)
    strategies = list(dict.fromkeys(variant.strategy for variant in variants))
    limits = sorted({variant.limit for variant in variants})
    panels = []
    for size in evaluation.plan.sizes:
        mine = [(str(item.variant.limit), item) for item in errors if item.size == size]
        if mine:
            panel = _chart_boxes(
                mine,
                order=[str(limit) for limit in limits],
                labels=strategies,
                among=list(dict.fromkeys(variant.strategy for variant in evaluation.plan.variants)),
                x_title="most predictors",
                ends=bound_errors(errors),
                width=300,
            )
            panels.append(panel.properties(title=f"from {size} machines"))
    chart = alt.concat(*panels, columns=3, spacing=18)
    text = (
        "Each box is all models of one strategy with at most so many predictors. Where boxes rise to the "
        "right, more predictors overfit."
    )
    return Figure("errors-by-limit", "Error of predictions by limit on predictors", text, chart.to_dict())


def draw_means(evaluation: PlatformEvaluation) -> Figure:
    """Mean error by training size with its intervals (thesis 2015, Figure 7.7b).

    Raises:
        InputError: no strategy predicts anything.
    """
    variants = list_unlimited(evaluation)
    labels = [variant.label for variant in variants]
    rows = [
        {
            "variant": item.variant.label,
            "size": item.size,
            "mean": 100 * item.mean.estimate,
            "low": 100 * item.mean.low,
            "high": 100 * item.mean.high,
            "narrow": 100 * item.mean_of_models.low,
            "wide": 100 * item.mean_of_models.high,
        }
        for item in list_errors(evaluation, variants)
    ]
    base = alt.Chart(alt.InlineData(values=rows))
    x = alt.X(
        "size:O",
        title="machines to train on",
        sort=[str(size) for size in evaluation.plan.sizes],
        axis=alt.Axis(labelAngle=0, grid=False),
        scale=alt.Scale(paddingInner=0.3),
    )
    beside: dict[str, Any] = {"xOffset": alt.XOffset("variant:N", sort=labels), "x": x}
    color = color_variants(labels, labels)
    y: dict[str, Any] = {"scale": alt.Scale(zero=True), "title": f"mean {ERROR_TITLE}"}
    known = [row for row in rows if row["low"] == row["low"]]
    whiskers = alt.Chart(alt.InlineData(values=known)).mark_rule(strokeWidth=1.4)
    models = base.mark_rule(strokeWidth=6, opacity=0.35)
    dots = base.mark_point(filled=True, size=34, opacity=1)
    chart = alt.layer(
        whiskers.encode(**beside, y=alt.Y("low:Q", **y), y2="high:Q", color=color),
        models.encode(**beside, y=alt.Y("narrow:Q", **y), y2="wide:Q", color=color),
        dots.encode(
            **beside,
            y=alt.Y("mean:Q", **y),
            color=color,
            tooltip=["variant:N", "size:O", "mean:Q", "low:Q", "high:Q"],
        ),
    ).properties(width=_find_width(len(evaluation.plan.sizes), len(labels)), height=280)
    level = format_level(evaluation.confidence)
    text = (
        f"Dots are means over all models. Thin lines are {level} intervals for other applications like these "
        "on the same machines; the thick ones, often hidden by the dot, take all models for independent, as "
        "the thesis does, and are too short."
    )
    return Figure("mean-error-by-size", "Mean error by number of training machines", text, chart.to_dict())


def _chart_boxes(
    items: Sequence[tuple[str, SizeErrors]],
    *,
    order: Sequence[str],
    labels: Sequence[str],
    among: Sequence[str],
    x_title: str,
    ends: tuple[float, float],
    width: int = 0,
) -> Any:
    """Boxes at places of `order`, side by side by variant; colours as `color_variants`."""
    rows, points = [], []
    for place, item in items:
        label = item.variant.strategy if item.variant.limit else item.variant.label
        box = item.box
        row = {
            "place": place,
            "variant": label,
            "models": item.models,
            "low whisker": 100 * box.low_whisker,
            "lower quartile": 100 * box.low_quartile,
            "median": 100 * box.median,
            "upper quartile": 100 * box.high_quartile,
            "high whisker": 100 * box.high_whisker,
            "worst": 100 * item.worst,
        }
        rows.append(row)
        points += [{**row, "beyond": 100 * value} for value in _thin(box.beyond)]
    x = alt.X("place:O", title=x_title, sort=list(order), axis=alt.Axis(labelAngle=0, grid=False))
    places: dict[str, Any] = {
        "x": x,
        "xOffset": alt.XOffset("variant:N", sort=list(labels), scale=alt.Scale(paddingInner=0.2)),
        "color": color_variants(labels, among),
    }
    base = alt.Chart(alt.InlineData(values=rows))
    width = width or _find_width(len(order), len(labels))
    bar = max(3.0, min(14.0, 0.62 * width / (len(order) * len(labels))))
    tooltip = ["variant:N", alt.Tooltip("place:O", title=x_title), "models:Q", "median:Q", "worst:Q"]

    def encode(field: str) -> Any:
        return alt.Y(f"{field}:Q", title=ERROR_TITLE, **scale_log(ends))

    return alt.layer(
        base.mark_rule(strokeWidth=1.1).encode(**places, y=encode("low whisker"), y2="high whisker:Q"),
        base.mark_bar(size=bar, fillOpacity=0.35, strokeWidth=1).encode(
            **places, y=encode("lower quartile"), y2="upper quartile:Q", tooltip=tooltip
        ),
        base.mark_tick(thickness=2.4, size=bar, orient="horizontal").encode(
            **places, y=encode("median"), tooltip=tooltip
        ),
        alt.Chart(alt.InlineData(values=points))
        .mark_point(filled=True, size=7, opacity=0.55)
        .encode(**places, y=encode("beyond"), tooltip=tooltip),
    ).properties(width=width, height=300)


def _thin(points: Sequence[float]) -> Sequence[float]:
    """Some of ordered points, evenly by rank, both ends among them."""
    if len(points) <= _MOST_POINTS:
        return points
    last = len(points) - 1
    return [points[round(step * last / (_MOST_POINTS - 1))] for step in range(_MOST_POINTS)]


def _find_width(places: int, labels: int) -> int:
    return max(320, min(_WIDEST, places * (labels * _BOX + 14)))
