"""Tables with columns of any type are exported, or refused with the column and a way out."""

from __future__ import annotations

import datetime
from typing import Any

import polars as pl
import pytest


def write_tidy(folder: Any, **columns: Any) -> None:
    usual = {
        "trial_id": ["a", "b", "c", "d"], "benchmark": ["Sort"] * 4, "response": ["wall_time"] * 4,
        "unit": ["s"] * 4, "measurement": [0] * 4, "value": [1.0, 2.0, 3.0, 5.0], "valid": [True] * 4,
        "exclusion": pl.Series([None] * 4, dtype=pl.String),
    }  # fmt: skip
    pl.DataFrame(usual | columns).write_parquet(folder / "table.parquet")


@pytest.mark.parametrize(
    ("levels", "shown"),
    [
        ([1, 2, 1, 2], ["n=1", "n=2"]),
        ([0.5, 2.0, 0.5, 2.0], ["n=0.5", "n=2.0"]),
        ([True, False, True, False], ["n=true", "n=false"]),
        (pl.Series(["x", "y", "x", "y"], dtype=pl.Enum(["y", "x"])), ["n=x", "n=y"]),
        (pl.Series(["x", "y", "x", "y"], dtype=pl.Categorical), ["n=x", "n=y"]),
        ([datetime.date(2024, 5, 1), datetime.date(2024, 6, 1)] * 2, ["n=2024-05-01-1", "n=2024-06-01-1"]),
    ],
)
def test_levels_of_any_type_stand_in_the_names_of_benchmarks(datamill, levels: Any, shown: list[str]) -> None:
    write_tidy(datamill.folder, n=levels)
    said = datamill("export", "table.parquet", "--to", "benchfmt")
    assert said.returncode == 0
    lines = [line.split("\t")[0] for line in said.stdout.splitlines() if line.startswith("Benchmark")]
    assert sorted(set(lines)) == sorted(f"BenchmarkSort/{name}" for name in shown)


def test_numbers_of_any_type_keep_their_digits(datamill) -> None:
    write_tidy(datamill.folder, value=pl.Series(["1.25", "2", "3", "5"]).cast(pl.Decimal(10, 2)))
    assert "\t1.25 wall_time-sec" in datamill("export", "table.parquet", "--to", "benchfmt").stdout
    write_tidy(datamill.folder, value=pl.Series(["1.25", "2", "3", "5"], dtype=pl.Categorical))
    assert "\t1.25 wall_time-sec" in datamill("export", "table.parquet", "--to", "benchfmt").stdout


@pytest.mark.parametrize("form", ["csv", "benchfmt", "markdown", "latex"])
@pytest.mark.parametrize("column", [[[1]] * 4, [b"a"] * 4, [datetime.timedelta(seconds=1)] * 4])
def test_columns_that_no_text_holds_are_named_with_a_way_out(datamill, form: str, column: list[Any]) -> None:
    write_tidy(datamill.folder, odd=column)
    said = datamill("export", "table.parquet", "--to", form)
    assert said.returncode == 2
    assert "table.parquet: column odd holds" in said.stderr
    assert "--to parquet" in said.stderr
    assert "Traceback" not in said.stderr
    kept = datamill("export", "table.parquet", "--to", "parquet", "--out", "kept.parquet")
    assert kept.returncode == 0


def test_a_wrong_cell_of_a_file_without_lines_is_named_by_its_row(datamill) -> None:
    write_tidy(datamill.folder, value=["1", "x", "3", "5"])
    said = datamill("export", "table.parquet", "--to", "csv")
    assert (said.returncode, said.stdout) == (2, "")
    assert 'table.parquet:2: value is "x"' in said.stderr


def test_a_table_of_which_nothing_is_known_to_be_valid_has_nothing_to_show(datamill) -> None:
    write_tidy(datamill.folder, valid=[None] * 4)
    said = datamill("export", "table.parquet", "--to", "markdown")
    assert said.returncode == 2
    assert "no row is valid" in said.stderr
