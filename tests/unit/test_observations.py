import polars as pl
import pytest

from datamill.analysis.model_data.observations import read_columns, select_response
from datamill.experiment.errors import InputError


def make_tidy(**columns: object) -> pl.DataFrame:
    """Eight trials of two packages with two responses; trial 3 of `time` is invalid."""
    rows = [
        {
            "trial_id": f"t{trial}",
            "package": "ab"[trial % 2],
            "response": response,
            "unit": unit,
            "value": trial + 0.5,
            "valid": not (trial == 3 and response == "time"),
        }
        for trial in range(8)
        for response, unit in (("time", "s"), ("faults", ""))
    ]
    return pl.DataFrame(rows).with_columns(**{name: pl.lit(value) for name, value in columns.items()})


def test_a_column_of_the_tidy_table_is_no_response() -> None:
    with pytest.raises(InputError, match='no response "value"') as caught:
        select_response(make_tidy(), "value", ["package"])
    assert "The responses are: time, faults." in caught.value.remedy


def test_values_in_several_units_are_refused_by_name() -> None:
    table = make_tidy()
    mixed = table.with_columns(unit=pl.when(pl.col("trial_id") == "t5").then(pl.lit("ms")).otherwise("unit"))
    with pytest.raises(InputError, match="time is in several units: s, ms"):
        select_response(mixed, "time", ["package"])
    assert select_response(table, "time", ["package"]).unit == "s"


def test_the_same_trial_id_in_two_experiments_or_attempts_is_two_trials() -> None:
    for column in ("experiment", "attempt"):
        table = pl.concat([make_tidy(**{column: 1}), make_tidy(**{column: 2})])
        found = select_response(table, "time", ["package"])
        assert (found.cells.n, found.averaged) == (14, 0), column


def test_invalid_measurements_beside_valid_ones_are_counted() -> None:
    table = make_tidy()
    spoiled = table.filter(pl.col("trial_id") == "t5").with_columns(valid=pl.lit(value=False))
    found = select_response(pl.concat([table, spoiled]), "time", ["package"])
    assert (found.cells.n, found.averaged, found.partly_valid) == (7, 0, 1)


def test_a_factor_whose_name_looks_like_an_interaction_is_refused() -> None:
    table = pl.DataFrame({"a": ["1", "2"], "a:b": ["1", "2"], "y": [1.0, 2.0]})
    with pytest.raises(InputError, match='the factor "a:b" holds a colon'):
        read_columns(table, "y", ["a", "a:b"])
