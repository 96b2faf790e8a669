"""Names longer than their panel are cut there: none lies upon its neighbour's."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import polars as pl
import pytest

import datamill
from datamill.analysis.distribution.boxes import BoxSummary
from datamill.report.figures.charts import Box, chart_boxes
from datamill.report.figures.figure import Figure, write_figure

LONG = ["a level whose name goes on" + " and on" * 12 + ", past its panel " + end for end in ("one", "two")]
ROWS = 80
TABLE = pl.DataFrame(
    {
        "group": ["x", "y"] * (ROWS // 2),
        "row": [LONG[row // 2 % 2] for row in range(ROWS)],
        "third": [LONG[row // 4 % 2] for row in range(ROWS)],
        "time": [float((row * 37) % 101) + row % 3 for row in range(ROWS)],
    }
)


def list_texts(figure: Figure, folder: Path) -> list[str]:
    """All texts of a figure as drawn, those of several lines by line."""
    write_figure(figure, folder / "figure.svg")
    return [
        unescape(text)
        for text in re.findall(r"<(?:text|tspan)[^>]*>([^<]+)</", (folder / "figure.svg").read_text())
    ]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_names_of_panels_are_cut_in_figures_of_distributions(tmp_path: Path, which: int) -> None:
    figures = datamill.summary(TABLE, response="time", factors=["group", "row", "third"]).figures()
    texts = list_texts(figures[which], tmp_path)
    assert not set(LONG) & set(texts)
    assert any(text.endswith("…") and LONG[0].startswith(text[:-1]) for text in texts)


def test_the_titles_of_effects_by_quantile_are_cut(tmp_path: Path) -> None:
    table = TABLE.with_columns(row=pl.Series([(*LONG, "short")[row % 3] for row in range(ROWS)]))
    found = datamill.quantiles(table, response="time", factors=["row"], quantiles=[0.5], errors="nid")
    texts = list_texts(found.figures()[0], tmp_path)
    assert not any(LONG[0] in text for text in texts)
    assert any(text.endswith("…") for text in texts)


def test_names_and_units_of_rows_of_panels_are_broken_before_they_reach_the_next_row(tmp_path: Path) -> None:
    machines = ["A: 2.6 GHz QEMU Virtual version 2.5+", "B: ARM Cortex-A57"]
    box = BoxSummary(9, 1.0, 2.0, 3.0, 4.0, 5.0, ())
    chart, _ = chart_boxes(
        [Box("", machine, "on", box) for machine in machines],
        title="% of its machine's mean", unit="%", rows=machines, order=["on"], factor=1.0, log=False,
    )  # fmt: skip
    texts = list_texts(Figure("boxes", "Boxes", "", chart), tmp_path)
    for lines in (["A: 2.6 GHz QEMU", "Virtual version 2.5+"], ["% of its machine's", "mean"]):
        assert set(lines) <= set(texts), texts
    assert machines[1] in texts
