"""Tables written for other tools and for papers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from datamill.analysis.distribution.points import summarize_points
from datamill.experiment.errors import InputError
from datamill.report.tables.markup import format_latex, format_markdown
from datamill.report.tables.point_table import show_rows, tabulate_points
from datamill.report.tables.table import Table
from datamill.results.exporting.benchfmt import format_benchfmt, list_level_columns, name_unit
from datamill.results.exporting.types import restore_plain_types, restore_tidy_types
from datamill.results.foreign.importing import import_files

FOLDER = Path(__file__).parents[3] / "foreign"


def tabulate(table: pl.DataFrame, response: str, **options: Any) -> Table:
    return tabulate_points(summarize_points(table, response, **options))


def make_table(**columns: list) -> pl.DataFrame:
    """A tidy table with a trial for each row, unless `columns` say otherwise."""
    height = len(next(iter(columns.values())))
    usual = {
        "trial_id": [f"t{index}" for index in range(height)],
        "benchmark": ["Sort"] * height,
        "response": ["wall_time"] * height,
        "unit": ["s"] * height,
        "measurement": [0] * height,
        "value": [float(index) for index in range(height)],
        "valid": [True] * height,
        "exclusion": [None] * height,
    }
    return pl.DataFrame(usual | columns, schema_overrides={"exclusion": pl.String})


def write(table: pl.DataFrame) -> list[str]:
    """Lines of a table in Go's format, but for those about units."""
    lines = format_benchfmt(table, list_level_columns(table), source="table").text.splitlines()
    return [line for line in lines if not line.startswith("Unit ")]


def test_a_trial_is_a_process_and_a_measurement_a_line() -> None:
    table = make_table(trial_id=["a", "a", "b"], measurement=[0, 1, 0], size=["10", "10", "20"])
    assert write(table) == [
        "BenchmarkSort/size=10\t1\t0 wall_time-sec", "BenchmarkSort/size=10\t1\t1 wall_time-sec", "PASS",
        "BenchmarkSort/size=20\t1\t2 wall_time-sec", "PASS",
    ]  # fmt: skip


def test_what_is_constant_stands_in_configuration_lines() -> None:
    table = make_table(size=["10", "20"], compiler=["gcc 12", "gcc 12"], **{"context.cpu": ["x", "x"]})
    assert write(table)[:3] == ["compiler: gcc 12", "cpu: x", "BenchmarkSort/size=10\t1\t0 wall_time-sec"]


def test_levels_with_strokes_stand_in_configuration_lines_that_change() -> None:
    lines = write(make_table(pkg=["a/b", "a/b", "a/c"]))
    assert [line for line in lines if line.startswith("pkg")] == ["pkg: a/b", "pkg: a/c"]


def test_a_name_that_ends_in_a_number_keeps_it() -> None:
    # benchstat takes a number after a dash at the end for the number of processors.
    lines = write(make_table(compiler=["gcc-11", "gcc-12"]))
    assert lines[0].startswith("BenchmarkSort/compiler=gcc-11-1\t")
    assert write(make_table(gomaxprocs=["4", "4"]))[0].startswith("BenchmarkSort-4\t")


def test_rows_that_are_not_valid_are_told_and_not_written() -> None:
    table = make_table(valid=[True, False], exclusion=[None, "warm-up"])
    written = format_benchfmt(table, [], source="table")
    assert written.results == 1
    assert written.notes == ("1 rows that are not valid are not written",)
    with pytest.raises(InputError, match="no row is valid"):
        format_benchfmt(table.filter(~pl.col("valid")), [], source="table")


def test_points_that_the_format_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(InputError, match="two design points"):
        write(make_table(benchmark=["a b", "a_b"]))
    with pytest.raises(InputError, match="two values"):
        write(make_table(trial_id=["a", "a"]))


@pytest.mark.parametrize(
    ("response", "unit", "name"),
    [
        ("wall_time", "s", "wall_time-sec"), ("sec/op", "s/op", "sec/op"),
        ("p99-sec/op", "s/op", "p99-sec/op"),
        ("throughput", "ops/s", "throughput-ops/s"), ("allocs/op", "allocs/op", "allocs/op"),
        ("swaps", "1", "swaps"), ("track", None, "track"), ("B/s", "B/s", "B/s"),
        ("my rate", "B/s", "my_rate-B/s"), ("s/op", "s/op", "s/op"), ("p99-s/op", "s/op", "p99-s/op"),
    ],
)  # fmt: skip
def test_units_are_benchstats(response: str, unit: str | None, name: str) -> None:
    assert name_unit(response, unit) == name


@pytest.mark.parametrize(
    "name",
    [
        "go.txt",
        "google-1.json",
        "jmh.json",
        "hyperfine.json",
        "pyperf.json",
        "pytest-benchmark.json",
        "rebench.data",
        "criterion",
    ],
)
def test_what_is_exported_to_benchfmt_is_imported_again_with_the_same_values(
    name: str, tmp_path: Path
) -> None:
    table = import_files([FOLDER / name]).table
    written = format_benchfmt(table, list_level_columns(table), source=name)
    (tmp_path / "again.txt").write_text(written.text)
    again = import_files([tmp_path / "again.txt"]).table
    valid = table.filter("valid")
    for response, unit in valid.select("response", "unit").unique(maintain_order=True).iter_rows():
        before = valid.filter(pl.col("response") == response)
        after = again.filter(pl.col("response") == response)
        assert after["unit"].unique().to_list() == [unit]
        assert after["value"].to_list() == before["value"].to_list()
        assert after["trial_id"].n_unique() == before["trial_id"].n_unique()
    if name == "go.txt":
        kept = [item for item in table.columns if item not in ("file", "trial_id", "context.reported_unit")]
        assert again.select(kept).equals(table.select(kept))


def test_a_benchfmt_file_without_names_of_ours_has_no_line_about_units() -> None:
    table = import_files([FOLDER / "go.txt"]).table
    assert "Unit" not in format_benchfmt(table, list_level_columns(table), source="go.txt").text


def test_responses_that_one_name_would_stand_for_are_refused() -> None:
    table = make_table(value=[1.0, 2.0], response=["my rate", "my_rate"], unit=["B/s", "B/s"])
    with pytest.raises(
        InputError, match='my rate in B/s and my_rate in B/s would both be called "my_rate-B/s"'
    ):
        format_benchfmt(table, [], source="t")


def test_names_and_units_with_blanks_come_back_as_they_went(tmp_path: Path) -> None:
    table = make_table(value=[1.0, 2.0], response=["my 100% rate", "depth"], unit=["frames per s", ""])
    (tmp_path / "a.txt").write_text(format_benchfmt(table, [], source="t").text)
    again = import_files([tmp_path / "a.txt"]).table
    assert again.select("response", "unit", "value").rows() == [
        ("my 100% rate", "frames per s", 1.0),
        ("depth", "", 2.0),
    ]


def test_means_by_design_point_have_students_interval() -> None:
    values = {"10": [1.2, 1.5, 1.1, 1.9], "20": [3.1, 2.7, 2.2, 2.9]}
    table = make_table(
        size=[size for size, numbers in values.items() for _ in numbers],
        value=[value for numbers in values.values() for value in numbers],
    )
    printed = tabulate(table, "wall_time")
    assert printed.headers == ("size", "trials", "wall_time (s)", "95% interval")
    for row in printed.rows:
        numbers = values[row[0]]
        low, high = stats.t.interval(0.95, 3, np.mean(numbers), stats.sem(numbers))
        shown_low, shown_high = (float(text) for text in row[3].replace("−", "-").split(" to "))
        assert row[1] == "4"
        assert math.isclose(float(row[2]), np.mean(numbers), abs_tol=0.005)
        assert math.isclose(shown_low, low, abs_tol=0.006)
        assert math.isclose(shown_high, high, abs_tol=0.006)


def test_several_measurements_of_a_trial_count_once_and_one_trial_has_no_interval() -> None:
    table = make_table(
        trial_id=["a", "a", "b"], measurement=[0, 1, 0], size=["1", "1", "2"], value=[1.0, 3.0, 5.0]
    )
    printed = tabulate(table, "wall_time")
    assert printed.rows == (("1", "1", "2.000", "–"), ("2", "1", "5.000", "–"))
    assert "Measurements inside one trial were averaged (trials with several: 1)." in printed.notes


def test_benchmarks_without_a_factor_keep_their_row() -> None:
    table = make_table(benchmark=["Sort", "Clone"], size=["10", None])
    assert [row[:2] for row in tabulate(table, "wall_time").rows] == [("Clone", "–"), ("Sort", "10")]


def test_every_special_sign_is_escaped() -> None:
    table = Table(
        ("a_b", "100%"),
        (
            ("x & y", "−1 µs"),
            ("[z] {~^\\$#<>|", "2"),
        ),
        (False, True),
    )
    assert format_latex(table).splitlines()[3:] == [
        r"a\_b & 100\% \\", r"\midrule", r"x \& y & $-$1 \textmu{}s \\",
        r"{}[z] \{\textasciitilde{}\textasciicircum{}\textbackslash{}\$\#"
        r"\textless{}\textgreater{}\textbar{} & 2 \\",
        r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    assert format_markdown(table).splitlines() == [
        r"| a\_b | 100% |", "| --- | ---: |", "| x & y | −1 µs |",
        r"| \[z\] {\~^\\$\#\<\>\| | 2 |",
    ]  # fmt: skip


def test_rows_as_they_are_are_rounded_to_four_figures() -> None:
    table = pl.DataFrame({"name": ["a", None], "n": [1234567, 2], "x": [1.23456789, 1e-9]})
    assert show_rows(table).rows == (("a", "1234567", "1.235"), ("", "2", "1e-09"))


def test_a_tidy_table_from_csv_gets_its_types_back(tmp_path: Path) -> None:
    table = import_files([FOLDER / "google-1.json"]).table
    table.write_csv(tmp_path / "table.csv")
    again = restore_tidy_types(pl.read_csv(tmp_path / "table.csv", infer_schema=False), source="table.csv")
    assert again.equals(table)
    assert again.schema == table.schema


def test_a_cell_of_a_wrong_type_is_named() -> None:
    table = make_table(size=["1", "2"]).cast(pl.String).with_columns(value=pl.Series(["1", "x"]))
    with pytest.raises(InputError, match='value is "x", which is not a number') as caught:
        restore_tidy_types(table, source="table.csv")
    assert caught.value.where == "table.csv:3"


def test_only_columns_of_plain_numbers_become_numbers() -> None:
    table = pl.DataFrame(
        {
            "n": ["1", "-2"],
            "x": ["1.5", None],
            "code": ["007", "8"],
            "word": ["a", "1"],
            "big": ["1" * 19, "1"],
        }
    )
    types = restore_plain_types(table).schema
    assert [types[name] for name in table.columns] == [pl.Int64, pl.Float64, pl.String, pl.String, pl.String]


def test_trials_that_do_not_differ_get_no_interval() -> None:
    printed = tabulate(make_table(value=[896.0, 896.0]), "wall_time")
    assert printed.rows[0][-2:] == ("896.0", "–")
    assert "No interval where there is one trial only, or where trials do not differ at all." in printed.notes


def test_what_benchfmt_cannot_have_measured_often_keeps_its_zero_iterations() -> None:
    lines = write(make_table(**{"value": [1.0], "context.iterations": [0]}))
    assert lines[0] == "BenchmarkSort\t0\t1 wall_time-sec"


def test_a_unit_that_go_does_not_know_comes_back_as_it_went(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("BenchmarkSort 0 2.5 s/op\nPASS\n")
    table = import_files([tmp_path / "a.txt"]).table
    text = format_benchfmt(table, [], source="a").text
    assert "\t0\t2.5 s/op" in text
