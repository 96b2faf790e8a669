"""The study as one HTML page: the figures of the thesis' chapter 5, and the tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from layout_effects import LEVELS, Occasion
from layout_tables import (
    list_notes,
    name_term,
    say_result,
    tabulate_effects,
    tabulate_repeat,
    tabulate_spreads,
)
from study_tables import Table

from datamill.analysis.distribution.boxes import summarize_box
from datamill.report.figures.charts import Box, chart_boxes, choose_mark
from datamill.report.figures.figure import Figure
from datamill.report.page.analysis_page import Section, render_analysis_page
from datamill.report.tables.statement import Part
from datamill.report.tables.table import build_table


def render_page(title: str, occasions: Sequence[Occasion]) -> str:
    """Render the page: the repeat's table first, then figures and tables of each occasion."""
    first = occasions[0]
    sections = [
        Section(
            "Effects, published and ours",
            sentences=(
                "Absolute effects over all benchmarks, as in Table 5.2 of the thesis. An effect is half the "
                "change from the low to the high level. Where there is no effect at all, noise alone has a "
                "mean absolute effect, too: its expected value stands in the second line.",
            ),
            figures=(draw_effects(occasions), draw_terms(occasions)),
            parts=(_view(tabulate_repeat(occasions)),),
        ),
        Section("Variability", figures=(draw_spreads(occasions),), parts=tuple(_view_spreads(occasions))),
    ]
    sections += [
        Section(f"Each benchmark, {occasion.name}", parts=(_view(tabulate_effects(occasion)),))
        for occasion in occasions
    ]
    factors = " and ".join(first.factors)
    lead = (
        say_result(occasions),
        f"{factors} were varied over {len(first.benchmarks)} benchmarks on one machine.",
    )
    notes = [note for occasion in occasions for note in list_notes(occasion)]
    return render_analysis_page(title, lead, sections, notes)


def draw_effects(occasions: Sequence[Occasion]) -> Figure:
    """Draw each benchmark's effects with one standard error, by term (Figures 5.1, 5.2, 5.6b)."""
    rows = [
        {
            "benchmark": effect.benchmark,
            "occasion": occasion.name,
            "term": name_term(effect.term),
            "effect": effect.percent,
            "low": effect.percent - effect.standard_error,
            "high": effect.percent + effect.standard_error,
        }
        for occasion in occasions
        for effect in occasion.effects
    ]
    names = [occasion.name for occasion in occasions]
    colors = [choose_mark(index).color for index in range(len(names))]
    base = alt.Chart().encode(
        alt.Y("benchmark:N", title=None, axis=alt.Axis(grid=True)),
        yOffset=alt.YOffset("occasion:N", sort=names, scale=alt.Scale(paddingOuter=0.3)),
        color=alt.Color(
            "occasion:N",
            sort=names,
            scale=alt.Scale(domain=names, range=colors),
            title=None,
            legend=alt.Legend(orient="top") if len(names) > 1 else None,
        ),
    )
    layers = alt.layer(
        alt.Chart().mark_rule(strokeDash=[3, 3], opacity=0.5, color="currentColor").encode(x=alt.datum(0)),
        base.mark_rule(strokeWidth=1.5).encode(
            alt.X("low:Q", title="effect, % of the mean"), alt.X2("high:Q")
        ),
        base.mark_point(filled=True, size=36, opacity=1).encode(
            alt.X("effect:Q"), tooltip=["benchmark:N", "occasion:N", "term:N", "effect:Q", "low:Q", "high:Q"]
        ),
    ).properties(width=max(150, 660 // len(occasions[0].terms)), height=alt.Step(11))
    terms = [name_term(term) for term in occasions[0].terms]
    chart: Any = layers.facet(
        column=alt.Column("term:N", sort=terms, title=None), data=alt.InlineData(values=rows)
    )
    return Figure(
        "effects",
        "Effects as shares of the mean, by benchmark",
        "Bars reach one standard error to either side. An effect whose bar is far from the dashed line "
        "differs from zero; one that is also large matters.",
        chart.to_dict(),
    )


def draw_terms(occasions: Sequence[Occasion]) -> Figure:
    """Draw box plots of effects over all benchmarks, a panel for each occasion (Figures 5.3 and 5.6a)."""
    boxes = [
        Box(
            occasion.name,
            "",
            name_term(term),
            summarize_box(np.array([effect.percent for effect in occasion.select(term)])),
        )
        for occasion in occasions
        for term in occasion.terms
    ]
    chart, _ = chart_boxes(
        boxes,
        title="effect, % of the mean",
        unit="%",
        columns=[occasion.name for occasion in occasions],
        order=[name_term(term) for term in occasions[0].terms],
        factor=1.0,
        log=False,
    )
    return Figure(
        "terms",
        "Effects over all benchmarks",
        "Each box has one effect for each benchmark. The thesis draws one such panel for each machine.",
        chart,
    )


def draw_spreads(occasions: Sequence[Occasion]) -> Figure:
    """Draw a dot for each design point's coefficient of variation (Figures 5.5, 5.7, 5.9)."""
    factors = occasions[0].factors
    rows = [
        {
            "benchmark": spread.benchmark,
            "occasion": occasion.name,
            "cv": 100 * spread.cv,
            "n": spread.n,
            **{
                f"f{at}": f"{factor} {level}"
                for at, (factor, level) in enumerate(zip(factors, spread.levels, strict=True))
            },
        }
        for occasion in occasions
        for spread in occasion.spreads
        if spread.cv > 0
    ]
    names = [occasion.name for occasion in occasions]
    colors = [choose_mark(index).color for index in range(len(names))]
    panel = (
        alt.Chart()
        .mark_point(filled=True, size=36, opacity=0.75)
        .encode(
            alt.X(
                "cv:Q",
                title="coefficient of variation (%)",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~g", tickCount=4, labelOverlap=True),
            ),
            alt.Y("benchmark:N", title=None, axis=alt.Axis(grid=True)),
            color=alt.Color(
                "occasion:N",
                scale=alt.Scale(domain=names, range=colors),
                title=None,
                legend=alt.Legend(orient="top") if len(names) > 1 else None,
            ),
            tooltip=["benchmark:N", "occasion:N", "cv:Q", "n:Q"],
        )
        .properties(width=320, height=alt.Step(14))
    )
    places: dict[str, Any] = {
        side: way(f"f{at}:N", sort=[f"{factors[at]} {level}" for level in LEVELS[factors[at]]], title=None)
        for at, (side, way) in enumerate((("column", alt.Column), ("row", alt.Row)))
        if at < len(factors)
    }
    chart: Any = panel.facet(**places, data=alt.InlineData(values=rows), spacing=10)
    return Figure(
        "spreads",
        "Coefficients of variation, by benchmark",
        "Each dot is the standard deviation of the trials at one design point over their mean. A factor that "
        "adds variability moves the dots of one panel to the right of those in another.",
        chart.to_dict(),
    )


def _view(table: Table) -> Part:
    head, rows = table
    return build_table(head, rows)


def _view_spreads(occasions: Sequence[Occasion]) -> list[Part]:
    views: list[Part] = []
    for occasion in occasions:
        head, rows = tabulate_spreads(occasion)
        views.append(build_table((f"{occasion.name}, {head[0]}", *head[1:]), rows))
    return views
