"""The table of means for a paper: no number is rounded to nothing."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from datamill.analysis.distribution.points import summarize_points
from datamill.report.tables.point_table import tabulate_points
from datamill.report.tables.table import Table


def tabulate(table: pl.DataFrame, response: str, **options: Any) -> Table:
    return tabulate_points(summarize_points(table, response, **options))


def summarize(scale: float) -> Table:
    values = [4.0, 5.0, 6.0, 7.0]
    table = pl.DataFrame(
        {
            "trial_id": [str(row) for row in range(5)],
            "g": ["a", "a", "a", "a", "b"],
            "response": "drift",
            "unit": "",
            "value": [value * scale for value in [*values, 5.4321]],
            "valid": True,
        }
    )
    return tabulate(table, "drift")


@pytest.mark.parametrize("scale", [1e-18, 1e-13, 1e-3, 1.0])
def test_means_show_two_figures_of_their_intervals_in_every_unit(scale: float) -> None:
    several, single = summarize(scale).rows
    plain = [float(text.replace("−", "-")) / scale for text in (several[2], *several[3].split(" to "))]
    assert plain == pytest.approx([5.5, 3.45, 7.55], abs=0.06)
    assert float(single[2].replace("−", "-")) / scale == pytest.approx(5.432, rel=1e-3)
