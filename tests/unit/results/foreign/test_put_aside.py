"""What other tools report beside their observations is called what it is, and is nothing invalid."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import datamill
from datamill.experiment.errors import InputError
from datamill.results.exporting.benchfmt import format_benchfmt
from datamill.results.foreign.importing import import_files
from datamill.results.tables.table import count_put_aside, leave_out_put_aside

FOLDER = Path(__file__).parents[3] / "foreign"


def test_warm_ups_and_calibrations_of_pyperf_are_no_invalid_measurements() -> None:
    table = import_files([FOLDER / "pyperf.json"]).table
    assert count_put_aside(table) == {"warm-ups": 20, "calibrations": 37}
    told = str(datamill.summary(table, response="time", factors=["benchmark"]))
    assert "invalid" not in told
    assert "n = 40" in told


def test_aggregates_of_google_benchmark_are_no_invalid_measurements_but_failures_are() -> None:
    table = import_files([FOLDER / "google-1.json"]).table
    assert count_put_aside(table) == {"aggregates": 56}
    told = str(datamill.summary(table, response="real_time", factors=["benchmark"]))
    failed = table.filter(pl.col("exclusion") == "failed: no such device", pl.col("response") == "real_time")
    assert f"Excluded: {failed.height} invalid rows" in told
    assert "invalid measurements" not in told


def test_a_table_of_nothing_but_aggregates_says_how_many_rows_cannot_be_used() -> None:
    table = import_files([FOLDER / "google-1.json"]).table
    aggregates = table.filter(
        pl.col("exclusion").str.starts_with("aggregate:"), pl.col("response") == "cpu_time"
    )
    assert leave_out_put_aside(aggregates).height == aggregates.height
    with pytest.raises(InputError, match=f"none of the {aggregates.height} rows"):
        datamill.summary(aggregates, response="cpu_time", factors=["benchmark"])


def test_an_export_says_what_the_rows_are_that_it_does_not_write() -> None:
    table = import_files([FOLDER / "google-1.json"]).table
    assert format_benchfmt(table, ["benchmark"], source="t").notes == (
        "56 rows are not written, because they are aggregates",
        "6 rows that are not valid are not written",
    )


def test_a_table_that_gives_no_reasons_has_nothing_put_aside() -> None:
    table = pl.DataFrame({"valid": [True, False]})
    assert leave_out_put_aside(table).height == 2
    assert count_put_aside(table) == {}
