"""The papers' pictures of factors on machines: a line a machine, and boxes of relative effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from datamill.analysis.answer.machines.effect_spread import EffectBox, EffectSpread
from datamill.analysis.answer.machines.factor_effects import FactorsByMachine, LevelOnMachine
from datamill.experiment.messages.numbers import format_level
from datamill.report.figures.charts import Box, Chart, chart_boxes, choose_dash, choose_mark
from datamill.report.figures.figure import INK, Figure

#: Pixels of a panel: for each level of the factor, at least, at most.
_PER_LEVEL, _NARROWEST, _WIDEST = 84, 190, 430
#: Panels of boxes side by side, and of lines.
_MOST_PANELS, _MOST_BESIDE = 6, 3


def draw_factor_lines(
    found: FactorsByMachine, factor: str, response: str, labels: Mapping[str, str], confidence: float
) -> Figure:
    """Draw a factor's levels as a line for each machine on its interval (ICPE 2013, Figure 6).

    With several packages each has a panel.
    """
    items = [item for item in found.levels if item.factor == factor and item.departure is not None]
    groups = list(dict.fromkeys(item.group for item in items))
    levels = _order_levels(items)
    machines = [labels[name] for name in dict.fromkeys(item.machine for item in items)]
    width = max(_NARROWEST, min(_WIDEST, _PER_LEVEL * len(levels)))
    marks = [choose_mark(index) for index in range(len(machines))]
    values = [
        {
            "level": item.level, "machine": labels[item.machine], "group": item.group, "n": item.n,
            "estimate": item.departure.estimate, "low": item.departure.low, "high": item.departure.high,
        }
        for item in items
        if item.departure is not None
    ]  # fmt: skip
    title = f"{response}: change from the machine's mean (%)"
    alone = len(groups) == 1
    legend = {
        "title": None,
        "orient": "right" if alone else "bottom",
        "columns": 1 if alone else 3,
        "labelLimit": 300,
        "symbolOpacity": 1,
    }
    color: Chart = {
        "field": "machine", "type": "nominal", "sort": machines, "legend": legend,
        "scale": {"domain": machines, "range": [mark.color for mark in marks]},
    }  # fmt: skip
    shape = {**color, "scale": {"domain": machines, "range": [mark.shape for mark in marks]}}
    dash = {
        **color,
        "scale": {"domain": machines, "range": [choose_dash(index) for index in range(len(machines))]},
    }
    x: Chart = {
        "field": "level", "type": "nominal", "sort": levels, "title": factor,
        "axis": {"labelAngle": 0 if max(map(len, levels)) * 7 * len(levels) < width else -40, "grid": False},
        "scale": {"type": "point", "padding": 0.35},
    }  # fmt: skip

    def number(field: str) -> Chart:
        return {"field": field, "type": "quantitative", "title": title, "scale": {"zero": False}}

    tooltip = [
        {"field": "machine", "type": "nominal"},
        {"field": "level", "type": "nominal"},
        *({"field": name, "type": "quantitative", "format": ",.4~r"} for name in ("estimate", "low", "high")),
        {"field": "n", "type": "quantitative", "format": ",d"},
    ]
    band = {"x": x, "y": number("low"), "y2": {"field": "high"}, "color": color}
    layers: list[Chart] = [
        {"mark": {"type": "area", "opacity": 0.13}, "encoding": band},
        {"mark": {"type": "rule", "strokeWidth": 1.4}, "encoding": band},
        {
            "mark": {"type": "line", "strokeWidth": 1.6},
            "encoding": {"x": x, "y": number("estimate"), "color": color, "strokeDash": dash},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 46, "opacity": 1},
            "encoding": {
                "x": x, "y": number("estimate"), "color": color, "shape": shape, "tooltip": tooltip,
            },
        },
        {
            "data": {"values": [{"zero": 0}]},
            "mark": {"type": "rule", "color": INK, "opacity": 0.4, "strokeDash": [3, 3]},
            "encoding": {"y": number("zero")},
        },
    ]  # fmt: skip
    panel: Chart = {"layer": layers, "width": width, "height": 240}
    chart: Chart = {"data": {"values": values}, **panel}
    if not alone:
        header = {"labelFontWeight": "bold", "labelFontSize": 12, "labelLimit": width, "title": None}
        by_group = {"field": "group", "type": "nominal", "sort": groups, "header": header}
        # Facets share their data: a line at zero of its own would have none of the groups.
        shared = {**panel, "layer": layers[:-1]}
        chart = {
            "data": {"values": values}, "facet": by_group, "columns": _MOST_BESIDE, "spec": shared,
            "spacing": 14,
        }  # fmt: skip
    level = format_level(confidence)
    caption = (
        f"a line for each machine; the band and bar at a point are its {level} interval, from that machine's "
        "own trials. Each value is relative to the machine's own mean, so that fast and slow machines share "
        "an axis. Lines that run side by side say that machines agree."
    )
    return Figure(
        f"machines-{response}-{factor}", f"{response} by {factor}, machine by machine", caption, chart
    )


def _order_levels(items: Sequence[LevelOnMachine]) -> list[str]:
    return list(dict.fromkeys(item.level for item in items))


def draw_effect_boxes(spread: EffectSpread, response: str, labels: Mapping[str, str]) -> tuple[Figure, ...]:
    """Draw relative effects in boxes: over machines for each package, and over packages for each machine."""
    figures = []
    if spread.over_machines:
        what = "each package" if len({box.panel for box in spread.over_machines}) > 1 else "the package"
        figures.append(
            _draw_boxes(
                spread.over_machines, response, "machines", f"a box holds {what}'s effects on all machines"
            )
        )
    if spread.over_packages:
        named = [
            EffectBox(labels[box.panel], box.factor, box.level, box.summary, box.mean)
            for box in spread.over_packages
        ]
        figures.append(
            _draw_boxes(named, response, "packages", "a box holds a machine's effects on all packages")
        )
    return tuple(figures)


def _draw_boxes(boxes: Sequence[EffectBox], response: str, over: str, what: str) -> Figure:
    panels = list(dict.fromkeys(box.panel for box in boxes))
    effects = list(dict.fromkeys(f"{box.factor} {box.level}" for box in boxes))
    # Many panels would lie far apart: then each effect has one, and machines stand side by side in it.
    turned = len(panels) > _MOST_PANELS
    columns, order = (effects, panels) if turned else (panels, effects)
    several = len(columns) > 1
    placed = []
    for box in boxes:
        column, x = box.panel, f"{box.factor} {box.level}"
        column, x = (x, column) if turned else (column, x)
        placed.append(Box(column if several else "", "", x, box.summary, box.mean))
    chart, _ = chart_boxes(
        placed,
        title="effect (% of the mean)",
        unit="%",
        columns=columns if several else ("",),
        order=order,
        factor=1.0,
        log=False,
    )
    caption = (
        f"{what}, each in percent of the mean there: a level's departure from it, of two levels half of what "
        "lies between them. The line in a box is the median, the × the mean; whiskers reach the most extreme "
        "effect within 150% of the box's length. Boxes that lie off zero show a sensitivity that is common "
        f"to the {over}."
    )
    return Figure(f"effects-{response}-over-{over}", f"Effects on {response} over {over}", caption, chart)
