"""Figures of the same analysis for several levels as one figure with a panel a level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from datamill.report.figures.charts import Chart
from datamill.report.figures.figure import Figure

#: Panels of one figure.
MOST_PANELS = 16
#: Panels side by side, by how wide one of them is.
_WIDEST_ROW = 900


def combine_figures(by: str, figures: Mapping[str, Figure]) -> Figure:
    """Put figures side by side, each under its name; they have the same kind of chart.

    Panels do not zoom, since one page cannot tell apart what several of them would be asked.
    """
    first = next(iter(figures.values()))
    width = max(_find_width(figure.chart) for figure in figures.values())
    panels = []
    for name, figure in figures.items():
        # Room around a figure is for the whole of it.
        bare = {key: part for key, part in figure.chart.items() if key != "padding"}
        panels.append({**_settle(bare), "title": {"text": name, "fontSize": 13}})
    chart: Chart = {
        "concat": panels,
        "columns": max(1, min(len(panels), int(_WIDEST_ROW // max(1.0, width)))),
        "spacing": 24,
    }
    if "config" in first.chart:
        chart["config"] = first.chart["config"]
    title = f"{first.title} by {by}"
    caption = f"a panel for each level of {by}. {first.caption[:1].upper()}{first.caption[1:]}"
    return Figure(f"{first.name}-by-{by}", title, caption, chart)


def _find_width(chart: Chart) -> float:
    beside = chart.get("hconcat")
    if beside:
        return sum(_find_width(part) for part in beside)
    facets = chart.get("facet")
    inner = chart.get("spec", chart).get("width", 300)
    own = float(inner) if isinstance(inner, (int, float)) else 300.0
    columns = len(facets["column"].get("sort", ())) if isinstance(facets, dict) and "column" in facets else 1
    return own * max(1, columns) + 80


def _settle(part: Any) -> Any:
    """A chart without parameters and what depends on them, which are unique on a page."""
    if isinstance(part, list):
        return [_settle(item) for item in part]
    if not isinstance(part, dict):
        return part
    left = {key: _settle(value) for key, value in part.items() if key not in ("params", "config")}
    if "params" in part and "transform" in left:
        left["transform"] = [step for step in left["transform"] if "indexof(" not in str(step.get("filter"))]
    return left
