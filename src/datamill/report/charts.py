"""Figures as inline SVG: box plots as in the paper's Figure 5, effect plots as in Figure 6."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert

from datamill.analysis.summaries import BoxSummary

#: Colours that stay apart in light, dark and for colour-blind eyes.
_PALETTE = ("#2f7ec1", "#dd7f1e", "#2f9e78", "#b5589f", "#8a7d2c", "#c4504a")
#: Shapes of points, and characters that look like them. Their number has no divisor in common with
#: the colours', so that the first 42 groups differ.
_SHAPES = (
    ("circle", "●"), ("square", "■"), ("triangle-up", "▲"), ("diamond", "◆"), ("cross", "✚"),
    ("triangle-down", "▼"), ("triangle-right", "▶"),
)  # fmt: skip
#: Points beyond the whiskers that one figure shows.
MOST_POINTS = 400
_TEXT = "currentColor"
_SVG_NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True)
class Box:
    """One box of a box plot: where it stands, its group's colour, and its numbers as shown."""

    column: str
    row: str
    x: str
    summary: BoxSummary


@dataclass(frozen=True, slots=True)
class EffectPoint:
    """Mean at a level, or deviation in percent, with its interval, as shown."""

    level: str
    group: str
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Mark:
    """How a group is told from others: colour, shape, and the shape as a character."""

    color: str
    shape: str
    character: str


def choose_mark(index: int) -> Mark:
    """Mark of the group with this index."""
    return Mark(_PALETTE[index % len(_PALETTE)], *_SHAPES[index % len(_SHAPES)])


def draw_boxes(
    boxes: Sequence[Box],
    *,
    title: str,
    column_title: str = "",
    row_title: str = "",
    columns: Sequence[str] = ("",),
    rows: Sequence[str] = ("",),
    order: Sequence[str],
    factor: float,
) -> tuple[str, int]:
    """Box plots faceted by column and row, one box for each of `order` in a panel.

    Values are multiplied by `factor`; `title` names the axis with its unit. Returns the SVG and
    how many points beyond the whiskers were left out of it.
    """
    values = [
        {
            "column": box.column,
            "row": box.row,
            "x": box.x,
            "lowWhisker": box.summary.low_whisker * factor,
            "low": box.summary.low_quartile * factor,
            "median": box.summary.median * factor,
            "high": box.summary.high_quartile * factor,
            "highWhisker": box.summary.high_whisker * factor,
        }
        for box in boxes
    ]
    beyond = [
        {"column": box.column, "row": box.row, "x": box.x, "beyond": value * factor}
        for box in boxes
        for value in box.summary.beyond
    ]
    panel = max(len(order) * 34, min(330, 780 // len(columns)))
    bar = 0.5 * panel / len(order)
    step = max(1, -(-len(beyond) // MOST_POINTS))
    shown = beyond[::step]
    x = alt.X(
        "x:N",
        sort=list(order),
        title=None,
        axis=alt.Axis(labelAngle=0 if _is_short(order) else -40, grid=False),
        scale=alt.Scale(paddingInner=0.35, paddingOuter=0.25),
    )
    color = alt.Color("x:N", sort=list(order), scale=_scale_colors(order), legend=None)
    y_scale = alt.Scale(zero=False, nice=True)
    base = alt.Chart()
    marks: list[alt.Chart] = [
        base.mark_rule(strokeWidth=1.3).encode(
            x, alt.Y("lowWhisker:Q", title=title, scale=y_scale), alt.Y2("highWhisker:Q"), color
        ),
        base.mark_bar(fillOpacity=0.3, strokeWidth=1.3, size=bar).encode(
            x, alt.Y("low:Q"), alt.Y2("high:Q"), color, alt.Stroke("x:N", scale=_scale_colors(order))
        ),
        base.mark_tick(thickness=2.5, orient="horizontal", size=bar).encode(x, alt.Y("median:Q"), color),
        base.mark_point(size=14, filled=True, opacity=0.65).encode(x, alt.Y("beyond:Q"), color),
    ]
    layer = alt.layer(*marks, data=alt.InlineData(values=values + shown)).properties(
        width=panel, height=210 if len(rows) == 1 else 140
    )
    facets: dict[str, Any] = {}
    if len(columns) > 1:
        header = alt.Header(titleFontWeight="normal", labelFontWeight="bold", labelFontSize=12)
        facets["column"] = alt.Column("column:N", sort=list(columns), title=column_title, header=header)
    if len(rows) > 1:
        header = alt.Header(labelAngle=-90, titleFontWeight="normal", labelFontWeight="bold")
        facets["row"] = alt.Row("row:N", sort=list(rows), title=row_title, header=header)
    chart = layer.facet(**facets, spacing=8) if facets else layer
    return _to_svg(chart), len(beyond) - len(shown)


def draw_effect(
    points: Sequence[EffectPoint],
    *,
    title: str,
    levels: Sequence[str],
    groups: Sequence[str],
    domain: tuple[float, float],
    zero_line: bool,
) -> str:
    """One line for each group over the levels of a factor, on a band of its interval."""
    values = [
        {
            "level": point.level,
            "group": point.group,
            "estimate": point.estimate,
            "low": point.low,
            "high": point.high,
        }
        for point in points
    ]
    x = alt.X(
        "level:N",
        sort=list(levels),
        title=None,
        axis=alt.Axis(labelAngle=0 if _is_short(levels) else -40, grid=False, labelLimit=110),
        scale=alt.Scale(type="point", padding=0.35),
    )
    color = alt.Color("group:N", sort=list(groups), scale=_scale_colors(groups), legend=None)
    y = alt.Y("estimate:Q", title=title, scale=alt.Scale(domain=list(domain), nice=False, zero=False))
    base = alt.Chart(alt.InlineData(values=values))
    layers: list[alt.Chart] = []
    if zero_line:
        rule = alt.Chart(alt.InlineData(values=[{"zero": 0}]))
        layers.append(
            rule.mark_rule(color=_TEXT, opacity=0.45, strokeDash=[3, 3]).encode(alt.Y("zero:Q", title=title))
        )
    shapes = alt.Scale(domain=list(groups), range=[choose_mark(i).shape for i in range(len(groups))])
    shape = alt.Shape("group:N", sort=list(groups), scale=shapes, legend=None)
    layers += [
        base.mark_area(opacity=0.22).encode(x, alt.Y("low:Q", title=title), alt.Y2("high:Q"), color),
        base.mark_rule(strokeWidth=1.5).encode(x, alt.Y("low:Q"), alt.Y2("high:Q"), color),
        base.mark_line(strokeWidth=1.6).encode(x, y, color),
        base.mark_point(filled=True, size=42, opacity=1).encode(x, y, color, shape),
    ]
    width = min(430, max(104, 52 * len(levels)))
    return _to_svg(alt.layer(*layers).properties(width=width, height=190))


def _is_short(labels: Sequence[str]) -> bool:
    return max((len(label) for label in labels), default=0) <= 6


def _scale_colors(groups: Sequence[str]) -> alt.Scale:
    colors = [choose_mark(index).color for index in range(len(groups))]
    return alt.Scale(domain=list(groups), range=colors)


def _to_svg(chart: alt.TopLevelMixin) -> str:
    """Render to an SVG that inherits the page's text colour and shares no ids with another."""
    spec = chart.to_dict(validate=False)
    spec["background"] = "transparent"
    axis = {
        "labelColor": _TEXT, "titleColor": _TEXT, "domainColor": _TEXT, "tickColor": _TEXT,
        "gridColor": _TEXT, "gridOpacity": 0.13, "domainOpacity": 0.5, "tickOpacity": 0.5,
        "titleFontWeight": "normal", "labelFontSize": 11, "titleFontSize": 12, "titlePadding": 10,
    }  # fmt: skip
    spec["config"] = {
        "axis": axis,
        "header": {"labelColor": _TEXT, "titleColor": _TEXT},
        "view": {"stroke": _TEXT, "strokeOpacity": 0.18},
        "font": "Helvetica Neue, Helvetica, Arial, sans-serif",
    }
    svg = str(vl_convert.vegalite_to_svg(spec))
    prefix = f"figure{next(_SVG_NUMBERS)}-"
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    return re.sub(r'url\((["\']?)#', rf"url(\1#{prefix}", svg)
