"""Versions in one row each, for pages: the cells of the statement."""

from __future__ import annotations

import polars as pl
import pytest

import datamill
from datamill.report.compare.version_rows import VersionRow, list_version_rows
from datamill.report.tables.statement import list_tables


def make_table() -> pl.DataFrame:
    """Three versions of six builds, the last one slower."""
    rows = [
        (version, build, slower + 10 + 0.01 * (build * 5 % 7))
        for version, slower in (("old", 0.0), ("same", 0.001), ("slow", 1.0))
        for build in range(6)
    ]
    return pl.DataFrame(rows, schema=["version", "build", "value"], orient="row")


@pytest.mark.parametrize("series", [False, True])
def test_rows_have_the_cells_of_both_tables_of_the_statement(series: bool) -> None:
    found = datamill.compare(make_table(), series=series, direction="lower")
    rows = list_version_rows(found.comparison)
    means, changes = (table.rows for table in list_tables(found.statement()))
    assert [(row.version, row.n, row.mean, row.interval) for row in rows] == [mean[:4] for mean in means]
    assert rows[0] == VersionRow(*means[0][:4])
    for row, change in zip(rows[1:], changes, strict=True):
        version, against, _, percent, interval, _, verdict = change
        told = (row.version, row.against, row.change, row.change_interval, row.verdict)
        assert told == (version, against, percent, interval, verdict)
    assert [row.verdict for row in rows] == ["", "unchanged within ±1%", "changed, worse"]
    assert rows[2].against == ("same" if series else "old")
