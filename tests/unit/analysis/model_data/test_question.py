"""What is asked of a tidy table where little is named."""

from pathlib import Path

import polars as pl
import pytest

from datamill.analysis.model_data.question import ModelQuestion, select_model_data
from datamill.experiment.errors import InputError
from datamill.verbs.inputs.data import read_data


def make_tidy(levels: str = "ab") -> pl.DataFrame:
    rows = [
        {"trial_id": f"t{at}", "response": "y", "value": float(at % 5), "valid": True, "order": at}
        | {"compiler": levels[at % len(levels)]}
        for at in range(12)
    ]
    return pl.DataFrame(rows)


def test_covariates_stand_beside_a_tables_factors_and_never_replace_them() -> None:
    data = select_model_data(make_tidy(), ModelQuestion(covariates=("order",)))
    assert [factor.name for factor in data.observations.cells.factors] == ["compiler"]
    assert {term.name for term in data.terms} == {"compiler", "order"}


def test_a_formula_alone_says_that_there_are_no_factors() -> None:
    data = select_model_data(make_tidy(), ModelQuestion(formula="y ~ order"))
    assert data.observations.cells.factors == ()


def test_a_table_whose_factors_do_not_vary_is_one_group_where_none_is_needed() -> None:
    with pytest.raises(InputError, match="no factor has valid data"):
        select_model_data(make_tidy("a"), ModelQuestion())
    data = select_model_data(make_tidy("a"), ModelQuestion(), allow_no_factor=True)
    assert data.observations.cells.counts.tolist() == [12]


@pytest.mark.parametrize(
    ("column", "units"),
    [
        ("unit", ["s", "ms"]),
        ("Units", ["MB/s", "kB/s"]),
        ("y_unit", ["s", ""]),
        ("unit", ["seconds", "milliseconds"]),
    ],
)
def test_values_in_several_units_are_refused(column: str, units: list[str]) -> None:
    table = pl.DataFrame(
        {"y": [1.0, 2.0, 1000.0, 2000.0], "f": [*"aabb"], column: [u for u in units for _ in "12"]}
    )
    with pytest.raises(InputError, match=f"several units \\(column {column}\\)"):
        select_model_data(table, ModelQuestion(response="y", factors=("f",)))


@pytest.mark.parametrize(
    "labels", [["A", "A", "B", "B"], ["s", "s", "s", "s"], ["left", "left", "right", "right"]]
)
def test_labels_that_are_no_units_are_not_taken_for_units(labels: list[str]) -> None:
    table = pl.DataFrame({"y": [1.0, 2.0, 3.0, 4.0], "f": [*"abab"], "unit": labels})
    assert select_model_data(table, ModelQuestion(response="y", factors=("f",))).observations.cells.n == 4


def test_a_file_in_several_units_is_refused_also_where_only_named_columns_are_read(tmp_path: Path) -> None:
    table = pl.DataFrame({"y": [1.0, 2.0, 1000.0, 2000.0], "f": [*"aabb"], "unit": ["s", "s", "ms", "ms"]})
    table.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="several units"):
        read_data(tmp_path / "t.parquet", ModelQuestion(response="y", factors=("f",)))
    assert read_data(tmp_path / "t.parquet", ModelQuestion(response="y", factors=("unit",)))
