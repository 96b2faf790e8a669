"""Figures of distributions: box plots, empirical distribution functions, histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datamill.analysis.distribution.shapes import CellBox, CellSteps, Histogram
from datamill.analysis.model_data.cells import Cells, ModelFactor
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_count, format_given
from datamill.report.figures.charts import Box, chart_boxes, choose_dash, choose_mark
from datamill.report.figures.figure import Figure
from datamill.report.words.scales import Scale, choose_scale

#: More panels or groups than these cannot be told apart.
_MOST_PANELS = 48
_MOST_GROUPS = 14


def draw_boxes(
    response: str, unit: str, cells: Cells, found: Sequence[CellBox], *, log: bool = False
) -> Figure:
    """Draw a box for each group: the first factor side by side, the others as columns and rows of panels.

    Raises:
        InputError: there are too many panels, or a logarithm does not exist.
    """
    scale = _choose_scale(unit, cells)
    _refuse_logarithm(cells, log=log)
    x, column, row = _lay_out(cells.factors)
    boxes = [
        Box(
            _name_level(cells, item.cell, column),
            _name_level(cells, item.cell, row),
            _name_level(cells, item.cell, x) or response,
            item.summary,
            float(cells.means[item.cell]) + cells.origin,
        )
        for item in found
    ]
    axis = f"{response}{f' ({scale.unit})' if scale.unit else ''}"
    chart, left_out = chart_boxes(
        boxes,
        title=axis,
        unit=scale.unit,
        x_title=cells.factors[x[0]].name if x else "",
        column_title=" / ".join(cells.factors[index].name for index in column),
        row_title=" / ".join(cells.factors[index].name for index in row),
        columns=_list_levels(cells, column),
        rows=_list_levels(cells, row),
        order=_list_levels(cells, x) if x else (response,),
        factor=scale.factor,
        log=log,
    )
    left_out += sum(item.beyond - len(item.summary.beyond) for item in found)
    text = (
        f"Each box holds the middle half of the observations ({_name_sizes(cells)}) and its line the median, "
        "a × their mean; whiskers reach the most extreme observation within 150% of the box's length, "
        "points lie beyond."
    )
    if left_out:
        text += f" {format_count(left_out)} of the points beyond are not drawn; the most extreme are."
    by = f" by {' and '.join(factor.name for factor in cells.factors)}" if x else ""
    return Figure("boxes", f"Box plots of {response}{by}", text, chart)


def draw_ecdf(
    response: str, unit: str, cells: Cells, found: Sequence[CellSteps], *, log: bool = False
) -> Figure:
    """Draw the empirical distribution function of each group; groups of a panel differ by colour and stroke.

    Raises:
        InputError: there are too many panels or groups, or a logarithm does not exist.
    """
    scale = _choose_scale(unit, cells)
    _refuse_logarithm(cells, log=log)
    values: list[dict[str, Any]] = []
    x, column, row = _lay_out(cells.factors)
    for steps in found:
        place = _place(cells, steps.cell, (x, column, row), response)
        # From nothing to the first step, so that the line starts on the axis.
        first = {**place, "value": float(steps.values[0]) * scale.factor, "share": 0.0}
        values.append(first)
        values += [
            {**place, "value": float(value) * scale.factor, "share": float(share)}
            for value, share in zip(steps.values, steps.share, strict=True)
        ]
    encoding = {
        "x": {
            "field": "value",
            "type": "quantitative",
            "title": f"{response}{f' ({scale.unit})' if scale.unit else ''}",
            "scale": _scale_axis(cells, scale, log=log),
            "axis": _style_axis(log=log),
        },
        "y": {
            "field": "share",
            "type": "quantitative",
            "title": "share of observations",
            "axis": {"format": "%"},
        },
        "color": _color(cells, x, response),
        "strokeDash": {**_color(cells, x, response), "scale": _dash(cells, x, response)},
        "order": {"field": "share", "type": "quantitative"},
    }
    mark = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.6}
    chart = _facet(cells, (column, row), values, {"mark": mark, "encoding": encoding})
    text = (
        f"Height: the share of observations that are at most the value below ({_name_sizes(cells)}). A line "
        "further right has larger values; each line has at most 400 steps, extremes included."
    )
    return Figure("distribution-functions", f"Distribution functions of {response}", text, chart)


def draw_histogram(
    response: str, unit: str, cells: Cells, histogram: Histogram, *, log: bool = False
) -> Figure:
    """Draw a histogram of each group, one below the other on the same axis, so that shapes compare.

    Raises:
        InputError: there are too many panels or groups, or a logarithm does not exist.
    """
    scale = _choose_scale(unit, cells)
    _refuse_logarithm(cells, log=log)
    x, column, row = _lay_out(cells.factors)
    edges = histogram.edges * scale.factor
    values = [
        {
            **_place(cells, cell, (x, column, row), response),
            "low": float(edges[index]),
            "high": float(edges[index + 1]),
            "count": float(count),
            "none": 0,
        }
        for cell in range(cells.counts.size)
        for index, count in enumerate(histogram.counts[cell])
        if count
    ]
    # The groups stand below each other: the first factor is the rows.
    down = (*x, *row)
    for value in values:
        value["row"] = " / ".join(part for part in (str(value["group"]), str(value["row"])) if part)
    encoding = {
        "x": {
            "field": "low",
            "type": "quantitative",
            "title": f"{response}{f' ({scale.unit})' if scale.unit else ''}",
            "scale": _scale_axis(cells, scale, log=log),
            "axis": _style_axis(log=log),
        },
        "x2": {"field": "high"},
        "y": {"field": "count", "type": "quantitative", "title": "observations"},
        "y2": {"field": "none"},
        "color": _color(cells, x, response),
    }
    mark = {"type": "rect", "fillOpacity": 0.55, "strokeWidth": 0.4, "stroke": "white"}
    chart = _facet(cells, (column, down), values, {"mark": mark, "encoding": encoding}, height=110)
    text = (
        f"Height: observations in each bin; bins of equal width{' on the logarithm' if log else ''}: "
        f"{histogram.rule} ({_name_sizes(cells)})."
    )
    return Figure("histograms", f"Histograms of {response}", text, chart)


def _choose_scale(unit: str, cells: Cells) -> Scale:
    ends = (float(cells.lows.min()) + cells.origin, float(cells.highs.max()) + cells.origin)
    return choose_scale(unit, max(abs(end) for end in ends))


def _refuse_logarithm(cells: Cells, *, log: bool) -> None:
    smallest = float(cells.lows.min()) + cells.origin
    if log and smallest <= 0:
        raise InputError(
            f"the smallest observation is {format_given(smallest)}, which has no logarithm",
            remedy=f"Leave out {argument('log')}.",
        )


def _style_axis(*, log: bool) -> dict[str, object]:
    # Labels at the ends stay below their ticks: moved inwards they would touch their neighbours.
    return {"format": "~g", "tickCount": 5, "labelOverlap": True} if log else {"labelFlush": False}


def _scale_axis(cells: Cells, scale: Scale, *, log: bool) -> dict[str, Any]:
    if not log:
        return {"zero": False}
    low = (float(cells.lows.min()) + cells.origin) * scale.factor
    high = (float(cells.highs.max()) + cells.origin) * scale.factor
    return {"type": "log", "domain": [low / 1.05, high * 1.05], "nice": False}


Places = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def _lay_out(factors: Sequence[ModelFactor]) -> Places:
    """Which factors are the groups of a panel, its columns, and its rows."""
    indices = tuple(range(len(factors)))
    x, column, row = indices[:1], indices[1:2], indices[2:]
    panels = 1
    for index in (*column, *row):
        panels *= len(factors[index].levels)
    groups = len(factors[0].levels) if factors else 1
    if panels > _MOST_PANELS or groups > 3 * _MOST_GROUPS:
        raise InputError(
            f"{groups} groups in {panels} panels cannot be read",
            remedy="Name fewer factors, the one with the groups first.",
        )
    return x, column, row


def _name_level(cells: Cells, cell: int, chosen: tuple[int, ...]) -> str:
    return " / ".join(cells.factors[index].levels[int(cells.codes[cell, index])] for index in chosen)


def _list_levels(cells: Cells, chosen: tuple[int, ...]) -> tuple[str, ...]:
    """Names of the combinations of levels that have data, in order."""
    if not chosen:
        return ("",)
    codes = sorted({tuple(int(row[index]) for index in chosen) for row in cells.codes})
    return tuple(
        " / ".join(cells.factors[index].levels[code] for index, code in zip(chosen, row, strict=True))
        for row in codes
    )


def _place(cells: Cells, cell: int, places: Places, response: str) -> dict[str, Any]:
    x, column, row = places
    return {
        "group": _name_level(cells, cell, x) or response,
        "column": _name_level(cells, cell, column),
        "row": _name_level(cells, cell, row),
    }


def _color(cells: Cells, x: tuple[int, ...], response: str) -> dict[str, Any]:
    groups = list(_list_levels(cells, x)) if x else [response]
    return {
        "field": "group",
        "type": "nominal",
        "title": cells.factors[x[0]].name if x else None,
        "sort": groups,
        "scale": {"domain": groups, "range": [choose_mark(index).color for index in range(len(groups))]},
        "legend": {"orient": "top"} if x else None,
    }


def _dash(cells: Cells, x: tuple[int, ...], response: str) -> dict[str, Any]:
    """Strokes that tell lines apart without their colours."""
    groups = list(_list_levels(cells, x)) if x else [response]
    return {"domain": groups, "range": [choose_dash(index) for index in range(len(groups))]}


def _facet(
    cells: Cells,
    places: tuple[tuple[int, ...], tuple[int, ...]],
    values: list[dict[str, Any]],
    panel: dict[str, Any],
    height: int = 210,
) -> dict[str, Any]:
    """Panels by columns and rows, where these have more than one level."""
    facets: dict[str, Any] = {}
    width = max(130, min(460, 780 // len(_list_levels(cells, places[0]))))
    # A name that is longer than its panel would lie upon its neighbours'.
    for name, chosen, room in zip(("column", "row"), places, (width, height), strict=True):
        levels = _list_levels(cells, chosen)
        if len(levels) > 1:
            facets[name] = {
                "field": name,
                "type": "nominal",
                "sort": list(levels),
                "title": " / ".join(cells.factors[index].name for index in chosen),
                "header": {"labelFontWeight": "bold", "titleFontWeight": "normal", "labelLimit": room},
            }
    sized = {**panel, "width": width, "height": height}
    if not facets:
        return {"data": {"values": values}, **sized}
    return {"data": {"values": values}, "facet": facets, "spec": sized, "spacing": 10}


def _name_sizes(cells: Cells) -> str:
    low, high = int(cells.counts.min()), int(cells.counts.max())
    return f"n = {format_count(low)}" + (f" to {format_count(high)} a group" if high > low else " a group")
