"""The page of a gate: the verdict, a picture of all changes, the table, and how it was measured."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.experiment.messages.numbers import format_level
from datamill.report.figures.figure import INK, Figure
from datamill.report.gate.gate_answer import BenchmarkAnswer, GateAnswer
from datamill.report.gate.statement import (
    HEADERS,
    MEANS,
    list_rows,
    list_sentences,
    name_columns,
    phrase_gate,
)
from datamill.report.page.analysis_page import Section, render_analysis_page
from datamill.report.tables.table import Table, build_table
from datamill.report.tables.text import lay_out_table

#: Colours of verdicts, apart for colour-blind eyes as well.
_COLOURS = {"slower": "#c4504a", "faster": "#2f9e78", "unchanged": "#2f7ec1", "cannot tell": "#8a8a8a"}
#: Benchmarks that the picture has room for.
_MOST_DRAWN = 40
#: How far the picture reaches: so many times the largest change, and so many times the usual interval.
_CHANGES, _INTERVALS = 4, 3


def render_gate_page(answer: GateAnswer) -> str:
    """Render a self-contained HTML page."""
    sentences = list_sentences(answer)
    warnings = [item.removeprefix("Warning: ") for item in sentences if item.startswith("Warning: ")]
    told = [item for item in sentences if not item.startswith("Warning: ")]
    figures = (draw_changes(answer),) if answer.benchmarks else ()
    tables = (build_gate_table(answer),) if answer.benchmarks else ()
    return render_analysis_page(
        f"Gate: {answer.head} against {answer.base}",
        (phrase_gate(answer), *told),
        (Section("Changes", figures=figures, parts=tables),),
        warnings,
    )


def build_gate_table(answer: GateAnswer, columns: int | None = None) -> Table:
    """Return the table of all benchmarks; alarms stand out.

    The means are left out where a terminal has too few columns for them: the page and JSON have them.
    """
    rows = list_rows(answer)
    strong = [index for index, row in enumerate(rows) if row[-1].endswith("alarm")]
    whole = build_table(name_columns(answer), rows, strong=strong, last_words=1)
    if columns is None or max(map(len, lay_out_table(whole))) <= columns:
        return whole

    def choose(cells: Sequence[str]) -> list[str]:
        return [cell for name, cell in zip(HEADERS, cells, strict=True) if name not in MEANS]

    return build_table(choose(whole.headers), list(map(choose, rows)), strong=strong, last_words=1)


def draw_changes(answer: GateAnswer) -> Figure:
    """Draw the change of each benchmark on its interval, the worst on top."""
    known = [item for item in answer.benchmarks if item.change is not None]
    shown = sorted(known, key=lambda item: -(item.change or 0.0))[:_MOST_DRAWN]
    values = [
        {
            "benchmark": item.name,
            "change": 100 * (item.change or 0.0),
            "low": 100 * item.low if item.low is not None else None,
            "high": 100 * item.high if item.high is not None else None,
            "verdict": item.verdict,
        }
        for item in shown
    ]
    level = format_level(1 - answer.gate.alpha)
    axis = {
        "field": "benchmark",
        "type": "nominal",
        "sort": [item.name for item in shown],
        "title": None,
        "axis": {"labelLimit": 320},
    }
    colour = {
        "field": "verdict",
        "type": "nominal",
        "scale": {"domain": list(_COLOURS), "range": list(_COLOURS.values())},
        "title": "verdict",
    }
    title = f"change from {answer.base} (%)"
    reach = _find_reach(shown)
    ends = [value[key] for value in values for key in ("low", "high", "change")]
    known_ends = [end for end in ends if isinstance(end, float)]
    is_cut = reach > 0 and bool(known_ends) and max(map(abs, known_ends)) > reach
    domain = [max(min(0.0, *known_ends), -reach), min(max(0.0, *known_ends), reach)] if is_cut else None
    scale = {"scale": {"domain": domain, "nice": False}} if is_cut else {}
    chart = {
        "data": {"values": values},
        "height": {"step": 22},
        "width": 460,
        "layer": [
            {
                "data": {"values": [{"zero": 0}]},
                "mark": {"type": "rule", "color": INK, "strokeOpacity": 0.6},
                "encoding": {"x": {"field": "zero", "type": "quantitative"}},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 3, "clip": True},
                "encoding": {
                    "y": axis,
                    "x": {"field": "low", "type": "quantitative", "title": title, **scale},
                    "x2": {"field": "high"},
                    "color": colour,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
                "encoding": {
                    "y": axis,
                    "x": {"field": "change", "type": "quantitative", "title": title, **scale},
                    "color": colour,
                },
            },
        ],
    }
    caption = (
        f"each point is the change of a benchmark from {answer.base} to {answer.head}, each bar its "
        f"interval; all intervals hold together at {level}. Right of 0 is slower."
    )
    if is_cut:
        caption += " Bars that end at the edge go on: the table has their ends."
    if len(known) > len(shown):
        caption += f" {len(known) - len(shown)} further benchmarks are not drawn."
    return Figure("gate-changes", "Change by benchmark", caption, chart)


def _find_reach(shown: Sequence[BenchmarkAnswer]) -> float:
    """The largest change in percent that the picture shows: one interval must not squeeze all others."""
    changes = [100 * abs(item.change or 0.0) for item in shown]
    extents = sorted(
        100 * max(abs(item.low), abs(item.high))
        for item in shown
        if item.low is not None and item.high is not None
    )
    usual = extents[(len(extents) - 1) // 2] if extents else 0.0
    return max(_CHANGES * max(changes, default=0.0), _INTERVALS * usual)
