import polars as pl
import pytest

from datamill.analysis.model_data.formula import Variable
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


def test_a_covariate_whose_name_looks_like_an_interaction_is_refused() -> None:
    table = pl.DataFrame({"a": ["1", "2"], "a:b": [1.0, 2.0], "y": [1.0, 2.0]})
    with pytest.raises(InputError, match='the covariate "a:b" holds a colon'):
        read_columns(table, "y", ["a"], covariates=[Variable("a:b", "a:b")])


@pytest.mark.parametrize("empty", [None, " "])
def test_rows_without_a_trial_are_refused_and_never_become_one(empty: str | None) -> None:
    table = pl.DataFrame({"a": ["u", "v", "u"], "trial": ["t1", "t2", empty], "y": [1.0, 2.0, 3.0]})
    with pytest.raises(InputError, match="column trial is empty here") as caught:
        read_columns(table, "y", ["a"], trial="trial", source="t.csv")
    assert caught.value.where == "t.csv:4"
    tidy = make_tidy().with_columns(
        trial_id=pl.when(pl.col("trial_id") == "t5").then(pl.lit(empty)).otherwise("trial_id")
    )
    with pytest.raises(InputError, match="column trial_id is empty here") as caught:
        select_response(tidy, "time", ["package"], source="t.csv", first_line=2)
    assert caught.value.where == "t.csv:12"


def test_a_trial_column_may_have_any_name() -> None:
    columns = {"number": ["u", "v", "u"], "_trial": [1, 2, 1], "y": [1.0, 2.0, 3.0]}
    for trial in ("_trial", "number"):
        factor = "number" if trial == "_trial" else "_trial"
        found = read_columns(pl.DataFrame(columns), "y", [factor], trial=trial, average=True)
        assert (found.cells.n, found.averaged) == (2, 1)


@pytest.mark.parametrize("kind", [pl.Int64, pl.String])
def test_whole_numbers_that_a_double_cannot_tell_apart_are_refused(kind: type[pl.DataType]) -> None:
    values = pl.Series([2**60 + step for step in (0, 50, 100, 150)], dtype=pl.Int64).cast(kind)
    table = pl.DataFrame({"a": ["u", "u", "v", "v"], "y": values})
    with pytest.raises(InputError, match="differences would be rounded away") as caught:
        read_columns(table, "y", ["a"])
    assert str(2**60) in caught.value.remedy
    # Times in nanoseconds differ by far more than they are rounded by.
    times = [1_700_000_000_000_000_001 + 10**9 * step for step in range(4)]
    assert read_columns(table.with_columns(y=pl.Series(times)), "y", ["a"]).cells.n == 4


def test_a_factor_that_is_not_a_number_is_no_level() -> None:
    table = pl.DataFrame({"a": [1.0, 2.0, float("nan")], "y": [1.0, 2.0, 3.0]})
    with pytest.raises(InputError, match="factor a has no level here"):
        read_columns(table, "y", ["a"])


def test_a_column_that_is_misspelt_is_offered_by_its_name() -> None:
    table = pl.DataFrame({"compiler": ["a", "b"], "seconds": [1.0, 2.0]})
    with pytest.raises(InputError) as caught:
        read_columns(table, "second", ["Compiler"])
    assert 'Did you mean "seconds"?' in caught.value.remedy
    with pytest.raises(InputError) as caught:
        read_columns(table, "seconds", ["Compiler"])
    assert 'Did you mean "compiler"?' in caught.value.remedy


def test_a_response_among_the_covariates_is_called_that() -> None:
    table = pl.DataFrame({"g": ["a", "b"], "y": [1.0, 2.0]})
    with pytest.raises(InputError, match="both response and covariate"):
        read_columns(table, "y", ["g"], covariates=[Variable("y", "y")])


def make_nested(**columns: object) -> pl.DataFrame:
    """Two packages, two builds of each, two executions of a build, two measurements: values 0 to 15."""
    rows = [
        {
            "trial_id": f"t{trial}",
            "point": trial // 4 + 1,
            "package": "ab"[trial // 4],
            "build": trial % 4 // 2 + 1,
            "execution": trial % 2 + 1,
            "measurement": measurement,
            "response": "time",
            "unit": "s",
            "value": float(2 * trial + measurement),
            "valid": True,
        }
        for trial in range(8)
        for measurement in range(2)
    ]
    return pl.DataFrame(rows).with_columns(**{name: pl.lit(value) for name, value in columns.items()})


def test_executions_of_several_builds_are_averaged_to_build_means() -> None:
    found = select_response(make_nested(), "time", ["package"])
    assert (found.cells.n, found.averaged, found.averaged_builds, found.units) == (4, 8, 4, "builds")
    assert sorted(found.cells.values + found.cells.origin) == [1.5, 5.5, 9.5, 13.5]
    assert found.trials is None


def test_a_build_with_more_executions_is_the_mean_of_their_means() -> None:
    table = make_nested().filter((pl.col("trial_id") != "t1") | (pl.col("measurement") == 0))
    found = select_response(table, "time", ["package"])
    # Executions 0.5 (of 0 and 1) and 2: each counts the same, whatever its number of measurements.
    assert min(found.cells.values + found.cells.origin) == 1.25


def test_with_one_build_of_each_point_trials_stay_the_replicates() -> None:
    found = select_response(make_nested(build=1), "time", ["package"])
    assert (found.cells.n, found.averaged, found.averaged_builds, found.units) == (8, 8, 0, "trials")


def test_with_one_execution_of_each_build_trials_stay_the_replicates() -> None:
    table = make_nested().with_columns(build_id="trial_id")
    found = select_response(table, "time", ["package"])
    assert (found.cells.n, found.averaged_builds, found.units) == (8, 0, "trials")


def test_a_build_measured_at_two_levels_has_a_mean_at_each() -> None:
    table = make_nested().with_columns(
        aslr=pl.when(pl.col("execution") == 1).then(pl.lit("on")).otherwise(pl.lit("off"))
    )
    twice = pl.concat([table, table.with_columns(trial_id=pl.col("trial_id") + "x")])
    twice = twice.with_columns(point=pl.col("point") * 2 + (pl.col("aslr") == "on"))
    found = select_response(twice, "time", ["package", "aslr"])
    assert (found.cells.n, found.averaged_builds) == (8, 8)
    # A model without the factor has one value of a build.
    assert select_response(twice, "time", ["package"]).cells.n == 4


def test_without_averaging_measurements_of_one_build_belong_together() -> None:
    found = select_response(make_nested(), "time", ["package"], average=False)
    assert (found.cells.n, found.averaged_builds, found.units) == (16, 0, "builds")
    assert found.trials is not None
    assert found.trials.tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4
    single = select_response(make_nested(build=1), "time", ["package"], average=False)
    assert single.trials is not None
    assert (single.units, len(set(single.trials.tolist()))) == ("trials", 8)


@pytest.mark.parametrize("column", ["value", "package", "trial_id"])
def test_what_is_missing_in_a_tidy_table_is_located_by_its_line(column: str) -> None:
    table = make_tidy()
    first = (
        table.with_row_index("at").filter(pl.col("valid") & (pl.col("response") == "time"))["at"].to_list()
    )
    at = first[-1]
    spoiled = table.with_columns(
        pl.when(pl.int_range(pl.len()) == at).then(None).otherwise(pl.col(column)).alias(column)
    )
    with pytest.raises(InputError) as caught:
        select_response(spoiled, "time", ["package"], source="t.csv", first_line=2)
    assert caught.value.where == f"t.csv:{at + 2}"
