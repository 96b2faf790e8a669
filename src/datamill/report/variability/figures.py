"""Figures of variability: by design point (thesis 2015, Figures 5.5 to 5.9), and over windows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from datamill.analysis.distribution.variability import PointVariabilities
from datamill.analysis.distribution.windows import WindowAnalysis
from datamill.analysis.model_data.cells import ModelFactor
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_level
from datamill.late import alt
from datamill.report.figures.figure import Figure

#: Points that one figure shows.
_MOST_POINTS = 3000
#: Design points that show their intervals; of more, bars would hide the dots.
_MOST_BARS = 80
#: Counts whose medians the line of a figure joins.
_MOST_MEDIANS = 200
_COLOR = "#2f7ec1"


def draw_variability(
    response: str, variability: PointVariabilities, factors: Sequence[ModelFactor]
) -> Figure:
    """Draw a dot for each design point: its coefficient of variation, on a logarithmic axis.

    The factor with the most levels goes down the page; the two with the fewest make columns and rows.

    Raises:
        InputError: no design point has a coefficient of variation.
    """
    known = [point for point in variability.points if point.cv is not None]
    if not known:
        raise InputError(
            "no design point has a coefficient of variation to draw", remedy="The text says why."
        )
    order = sorted(range(len(factors)), key=lambda index: -len(factors[index].levels))
    down = order[0] if order else -1
    # The fewest levels make the fewest panels; what remains is several dots in a line.
    facets = [index for index in reversed(order[1:]) if len(factors[index].levels) > 1]
    shown = known[:: max(1, -(-len(known) // _MOST_POINTS))]
    rows: list[dict[str, Any]] = []
    for point in shown:
        assert point.cv is not None
        row: dict[str, Any] = {f"f{index}": level for index, level in enumerate(point.levels)}
        row |= {
            "cv": 100 * point.cv.estimate,
            "low": 100 * point.cv.low,
            "high": 100 * point.cv.high if math.isfinite(point.cv.high) else None,
            "n": point.n,
            "all": response,
            "point": ", ".join(
                f"{factor.name} = {level}" for factor, level in zip(factors, point.levels, strict=True)
            ),
        }
        rows.append(row)
    levels = factors[down].levels if down >= 0 else (response,)
    # Bars of many points, or such as reach to zero, would hide the dots or leave the axis.
    with_bars = len(shown) <= _MOST_BARS and all(row["low"] > 0 and row["high"] for row in rows)
    x: dict[str, Any] = {
        "title": "coefficient of variation (%)",
        "scale": alt.Scale(type="log", domain=_bound(rows, bars=with_bars), nice=False),
        "axis": alt.Axis(labelOverlap=True, tickCount=4, format="~g"),
    }
    y = alt.Y(
        f"f{down}:N" if down >= 0 else "all:N",
        sort=list(levels),
        title=factors[down].name if down >= 0 else None,
        axis=alt.Axis(grid=True),
    )
    base = alt.Chart(alt.InlineData(values=rows))
    tooltip = ["point:N", "cv:Q", "low:Q", "high:Q", "n:Q"]
    dots: Any = base.mark_point(filled=True, size=36, opacity=0.8, color=_COLOR).encode(
        alt.X("cv:Q", **x), y, tooltip=tooltip
    )
    if with_bars:
        bars = base.mark_rule(strokeWidth=1.4, opacity=0.5, color=_COLOR)
        dots = alt.layer(bars.encode(alt.X("low:Q", **x), alt.X2("high:Q"), y), dots)
    width = max(130, min(420, 760 // _count_levels(factors, facets[:1])))
    chart: Any = _facet(dots.properties(width=width, height=alt.Step(16)), factors, facets[:2])
    level = format_level(variability.confidence)
    with_interval = f", with its {level} interval" if with_bars else ""
    text = (
        f"Each dot is one design point ({len(known)} of them): the standard deviation of its observations "
        f"over their mean{with_interval}. Look for dots that lie further right in one panel or line than in "
        "another."
    )
    if not with_bars and len(shown) <= _MOST_BARS:
        text += " Intervals are not drawn, for one or more reach to zero or have no upper end."
    if len(known) < len(variability.points):
        text += f" {len(variability.points) - len(known)} design points have no coefficient to draw."
    if len(shown) < len(known):
        text += f" {len(known) - len(shown)} dots are left out."
    return Figure("variability", f"Coefficient of variation of {response}", text, chart.to_dict())


def _bound(rows: Sequence[Mapping[str, Any]], *, bars: bool) -> list[float]:
    """Ends of the logarithmic axis: a little beyond what is drawn."""
    drawn = [row[name] for row in rows for name in (("low", "high") if bars else ("cv",)) if row[name] > 0]
    return [min(drawn) / 1.15, max(drawn) * 1.15] if drawn else [0.1, 10.0]


def _count_levels(factors: Sequence[ModelFactor], chosen: Sequence[int]) -> int:
    return len(factors[chosen[0]].levels) if chosen else 1


def _facet(chart: Any, factors: Sequence[ModelFactor], chosen: Sequence[int]) -> Any:
    if not chosen:
        return chart
    places = {}
    for way, index in zip((alt.Column, alt.Row), chosen, strict=False):
        name = "column" if way is alt.Column else "row"
        places[name] = way(f"f{index}:N", sort=list(factors[index].levels), title=factors[index].name)
    return chart.facet(**places, spacing=10)


def draw_windows(response: str, analysis: WindowAnalysis) -> Figure:
    """Draw coefficient of variation and skewness of every window over its count (thesis 2019, Figure 2.4)."""
    step = max(1, -(-len(analysis.windows) // _MOST_POINTS))
    shown = analysis.windows[::step]
    panels = []
    for key, title in (("cv", "coefficient of variation (%)"), ("skewness", "skewness G1")):
        factor = 100.0 if key == "cv" else 1.0
        points = [
            {"count": window.count, "value": getattr(window, key) * factor}
            for window in shown
            if getattr(window, key) is not None
        ]
        base = alt.Chart(alt.InlineData(values=points))
        x = alt.X("count:Q", title=f"{analysis.against} in {analysis.size} observations")
        dots = base.mark_point(filled=True, size=22, opacity=0.45, color=_COLOR).encode(
            x, alt.Y("value:Q", title=title)
        )
        known = [(item.count, getattr(item, key)) for item in analysis.by_count]
        medians = [
            {"count": count, "median": factor * figure.median}
            for count, figure in known
            if figure is not None
        ][:_MOST_MEDIANS]
        line = (
            alt.Chart(alt.InlineData(values=medians))
            .mark_line(color="#dd7f1e", strokeWidth=2, point={"color": "#dd7f1e", "size": 30})
            .encode(x, alt.Y("median:Q", title=title))
        )
        panels.append(alt.layer(dots, line).properties(width=320, height=240))
    text = (
        f"Each dot is a window of {analysis.size} consecutive observations ({len(analysis.windows)} "
        "windows); the line joins the medians of windows with the same count."
    )
    if len(shown) < len(analysis.windows):
        text += f" {len(analysis.windows) - len(shown)} dots are left out."
    chart = alt.hconcat(*panels, spacing=24)
    title = f"Variability of {response} against {analysis.against}"
    return Figure("variability-windows", title, text, chart.to_dict())
