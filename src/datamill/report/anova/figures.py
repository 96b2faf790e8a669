"""Figures of a linear model: effects as shares of the mean, and what its residuals look like."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from datamill.analysis.assumptions.diagnostics import Diagnostics
from datamill.analysis.linear.linear_model import LinearModel
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_given
from datamill.report.anova.sections import choose_shares, name_share
from datamill.report.figures.figure import INK, Figure, leave_room
from datamill.report.words.scales import choose_scale
from datamill.report.words.term_names import spell_term

_BLUE, _ORANGE, _GREY = "#2f7ec1", "#dd7f1e", "#8c8c8c"
#: Effects that one figure shows, the largest first to stay.
_MOST_EFFECTS = 60
_WIDTH, _HEIGHT = 330, 240
_RESIDUAL = "residual, standard deviations"
Chart = dict[str, Any]


def draw_effect_shares(model: LinearModel, response: str) -> Figure:
    """Effects in percent of the mean, with bars of one standard error (thesis 2015, Figure 5.1).

    Raises:
        InputError: the mean may be zero, so that no share exists, or there are only covariates.
    """
    shares = choose_shares(model)
    if not shares:
        raise InputError(
            "no effect can be drawn as share of the mean: the response is transformed, the mean may be zero, "
            "or there is no factor",
            remedy=f"Leave out {argument('figure')}; {argument('diagnostics')} draws the residuals.",
        )
    kept = sorted(shares, key=lambda share: -abs(share.percent))[:_MOST_EFFECTS]
    detected = {row.term.name for row in model.terms if model.detects(row)}
    rows = [
        {
            "term": share.term,
            "effect": name_share(replace(share, term=spell_term(share.term))),
            "share": share.percent,
            "low": share.percent - share.standard_error,
            "high": share.percent + share.standard_error,
            "told": "yes" if share.term in detected else "no",
        }
        for share in shares
        if share in kept
    ]
    order = [str(row["effect"]) for row in rows]
    y = {
        "field": "effect",
        "type": "nominal",
        "sort": order,
        "title": None,
        "axis": {"labelLimit": 320},
    }
    color = {
        "field": "told",
        "type": "nominal",
        "title": f"term detected (Holm p < {format_given(model.alpha)})",
        "scale": {"domain": ["yes", "no"], "range": [_BLUE, _GREY]},
        "legend": {"orient": "top"},
    }
    # Told apart without colours as well: what is not told from zero is hollow.
    filled = {"condition": {"test": "datum.told == 'yes'", "value": 0.75}, "value": 0.08}
    tooltip = [
        {"field": "effect", "type": "nominal"},
        *(
            {"field": field, "type": "quantitative", "format": ".4~g", "title": title}
            for field, title in (
                ("share", "effect (half the change, % of the mean)"),
                ("low", "less one standard error"),
                ("high", "plus one standard error"),
            )
        ),
    ]
    x = _number("share", f"effect (half the change), % of mean {response}")
    chart: Chart = {
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "bar", "strokeWidth": 1.2},
                "encoding": {
                    "x": x,
                    "y": y,
                    "fill": color,
                    "stroke": color,
                    "fillOpacity": filled,
                    "tooltip": tooltip,
                },
            },
            {
                "mark": {"type": "rule", "strokeWidth": 1.4, "color": INK},
                "encoding": {"x": _number("low", ""), "x2": {"field": "high"}, "y": y},
            },
            {
                "data": {"values": [{"zero": 0}]},
                "mark": {"type": "rule", "color": INK, "strokeWidth": 0.8},
                "encoding": {"x": _number("zero")},
            },
        ],
        "width": 480,
        "height": {"step": 22},
        "padding": leave_room(order),
    }
    left_out = f" The {len(shares) - len(rows)} smallest are left out." if len(shares) > len(rows) else ""
    return Figure(
        "effect-shares",
        f"Effects on {response} as shares of the mean",
        "Length: half the change between the two levels, or a level's distance from the mean, in percent of "
        "the mean. Lines: one standard error to either side. Filled bars are of terms that were "
        "detected, hollow ones of terms that were not; what is certain may still be too small to matter."
        f"{left_out}",
        chart,
    )


def draw_residuals(found: Diagnostics, response: str) -> Figure:
    """Residuals against fitted values, as ASPLOS 2013, Figures 3 and 5."""
    return Figure(
        "residuals",
        "Residuals against fitted values",
        "Each point is an observation: how far it lies from what the model says, against what that is. "
        f"A cloud of even height is good; a funnel means unequal spread.{_say_thinned(found)}",
        _chart_residuals(found, response),
    )


def draw_probability(found: Diagnostics) -> Figure:
    """Normal probability plot of the residuals, as ASPLOS 2013, Figure 6."""
    return Figure(
        "probability",
        "Normal probability plot",
        "Ordered residuals against those of a normal distribution. On the line is good; ends that bend away "
        f"mean more extreme observations than the model expects.{_say_thinned(found)}",
        _chart_probability(found),
    )


def draw_histogram(found: Diagnostics) -> Figure:
    """Histogram of the residuals, with the normal curve of the same spread."""
    return Figure(
        "histogram",
        "Histogram of the residuals",
        f"Bars: residuals; line: the normal curve that the model assumes.{_say_outside(found)}",
        _chart_histogram(found),
    )


def draw_influence(found: Diagnostics) -> Figure:
    """The largest Cook's distances."""
    return Figure(
        "influence",
        "Influence of single observations",
        "The observations that move the estimates most (Cook's distance). "
        + (
            "Above the dashed line one observation decides by itself."
            if _shows_limit(found)
            else "All are far below the distance at which one observation decides by itself."
        ),
        _chart_influence(found),
    )


def draw_diagnostics(found: Diagnostics, response: str, unit: str) -> Figure:
    """All four pictures of the residuals in one."""
    scale = choose_scale(unit, float(np.max(np.abs(found.fitted))))
    scaled = replace(found, fitted=found.fitted * scale.factor)
    named = f"{response} ({scale.unit})" if scale.unit else response
    charts = [
        {**_chart_residuals(scaled, named), "title": "Residuals against fitted values"},
        {**_chart_probability(found), "title": "Normal probability plot"},
        {**_chart_histogram(found), "title": "Histogram of residuals"},
        {**_chart_influence(found), "title": "Influence of single observations"},
    ]
    rows = [{"hconcat": charts[:2], "spacing": 40}, {"hconcat": charts[2:], "spacing": 40}]
    chart: Chart = {"vconcat": rows, "spacing": 30}
    return Figure(
        "diagnostics",
        f"What the linear model of {response} leaves over",
        "Good: an even cloud, points on the line, bars under the curve, and no single observation that "
        f"stands out{' above the dashed line' if _shows_limit(found) else ''}."
        f"{_say_thinned(found)}{_say_outside(found)}",
        chart,
    )


def _chart_residuals(found: Diagnostics, response: str) -> Chart:
    rows = [
        {"fitted": fitted, "residual": residual}
        for fitted, residual in zip(found.fitted.tolist(), found.residuals.tolist(), strict=True)
    ]
    points = {
        "mark": {"type": "circle", "size": 14, "opacity": 0.45, "color": _BLUE},
        "encoding": {
            "x": {
                **_number("fitted", f"fitted {response}"),
                "scale": {"zero": False},
                "axis": {"tickCount": 6, "labelOverlap": True},
            },
            "y": _number("residual", _RESIDUAL),
            "tooltip": _tell(fitted=f"fitted {response}", residual=_RESIDUAL),
        },
    }
    return _size({"data": {"values": rows}, "layer": [points, _rule_at_zero(_ORANGE, 1.2)]})


def _chart_probability(found: Diagnostics) -> Chart:
    rows = [
        {"score": score, "residual": residual}
        for score, residual in zip(found.scores.tolist(), found.ordered.tolist(), strict=True)
    ]
    score = {**_number("score", "normal score"), "axis": {"tickCount": 6, "labelOverlap": True}}
    place = {"x": score, "y": _number("residual", _RESIDUAL)}
    ends = [float(found.scores[0]), float(found.scores[-1])]
    line = {
        "data": {"values": [{"score": end, "residual": end} for end in ends]},
        "mark": {"type": "line", "color": _ORANGE, "strokeWidth": 1.4},
        "encoding": place,
    }
    points = {
        "mark": {"type": "circle", "size": 16, "opacity": 0.7, "color": _BLUE},
        "encoding": {**place, "tooltip": _tell(score="normal score", residual=_RESIDUAL)},
    }
    return _size({"data": {"values": rows}, "layer": [line, points]})


def _chart_histogram(found: Diagnostics) -> Chart:
    rows = [
        {"low": float(low), "high": float(high), "count": int(count), "none": 0}
        for low, high, count in zip(found.edges[:-1], found.edges[1:], found.counts, strict=True)
    ]
    bars = {
        "mark": {"type": "rect", "color": _BLUE, "opacity": 0.75},
        "encoding": {
            "x": {**_number("low", _RESIDUAL), "scale": {"zero": False, "nice": False}},
            "x2": {"field": "high"},
            "y": _number("count", "observations"),
            "y2": {"field": "none"},
            "tooltip": _tell(low="from", high="to", count="observations"),
        },
    }
    at = np.linspace(found.edges[0], found.edges[-1], 120)
    scale = found.tested * float(found.edges[1] - found.edges[0]) / np.sqrt(2 * np.pi)
    line = {
        "data": {"values": [{"at": float(x), "density": float(scale * np.exp(-(x**2) / 2))} for x in at]},
        "mark": {"type": "line", "color": _ORANGE, "strokeWidth": 1.6},
        "encoding": {"x": _number("at"), "y": _number("density")},
    }
    return _size({"data": {"values": rows}, "layer": [bars, line]})


def _chart_influence(found: Diagnostics) -> Chart:
    rows = [
        {"row": int(row), "distance": float(distance), "zero": 0}
        for row, distance in zip(found.rows, found.distances, strict=True)
    ]
    x = {**_number("row", "observation"), "scale": {"zero": False}}
    y = _number("distance", "Cook's distance")
    layers: list[Chart] = [
        {
            "mark": {"type": "rule", "color": _BLUE, "strokeWidth": 1},
            "encoding": {"x": x, "y": y, "y2": {"field": "zero"}},
        },
        {
            "mark": {"type": "circle", "size": 16, "color": _BLUE, "opacity": 1},
            "encoding": {"x": x, "y": y, "tooltip": _tell(row="observation", distance="Cook's distance")},
        },
    ]
    most = found.most_influential
    if most is not None and _shows_limit(found):
        layers.append(
            {
                "data": {"values": [{"limit": most.limit}]},
                "mark": {"type": "rule", "color": _ORANGE, "strokeDash": [5, 4]},
                "encoding": {"y": _number("limit")},
            }
        )
    return _size({"data": {"values": rows}, "layer": layers})


def _shows_limit(found: Diagnostics) -> bool:
    """Whether the limit is in sight: far above all points it would press them to the ground."""
    most = found.most_influential
    return most is not None and most.limit < 4 * most.distance


def _number(field: str, title: str | None = None) -> Chart:
    return {"field": field, "type": "quantitative", **({"title": title} if title is not None else {})}


def _tell(**titles: str) -> list[Chart]:
    """Lines of a tooltip."""
    return [
        {"field": field, "type": "quantitative", "title": title, "format": ",.4~r"}
        for field, title in titles.items()
    ]


def _size(chart: Chart) -> Chart:
    return {**chart, "width": _WIDTH, "height": _HEIGHT}


def _rule_at_zero(color: str, width: float) -> Chart:
    return {
        "data": {"values": [{"zero": 0}]},
        "mark": {"type": "rule", "color": color, "strokeWidth": width},
        "encoding": {"y": _number("zero")},
    }


def _say_thinned(found: Diagnostics) -> str:
    if found.fitted.size == found.n:
        return ""
    return (
        f" Drawn are {found.fitted.size} of {found.n} observations, taken at random, with the most extreme."
    )


def _say_outside(found: Diagnostics) -> str:
    if not found.outside:
        return ""
    return f" The axis of the histogram leaves out {found.outside} of {found.tested} residuals."
