"""Nested measurements gathered from plain and tidy tables."""

import numpy as np
import polars as pl
import pytest

from datamill.analysis.random_effects.nested_data.nesting import NestedVersions, NestingColumns, gather_nested
from datamill.experiment.errors import InputError

ROWS = [
    ("2.0", "b", 1, 2, 4.0),
    ("2.0", "b", 1, 1, 3.0),
    ("1.0", "a", 1, 10, 12.0),
    ("1.0", "a", 1, 9, 11.0),
    ("2.0", "a", 1, 1, 1.0),
    ("2.0", "a", 2, 1, 2.0),
]
COLUMNS = ["version", "build", "execution", "measurement", "value"]


def make_table(rows: list[tuple[object, ...]] = ROWS) -> pl.DataFrame:  # type: ignore[assignment]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def gather(table: pl.DataFrame, **columns: str) -> NestedVersions:
    return gather_nested(table, NestingColumns(**columns), source="t.csv")


def make_tidy(rows: list[tuple[str, str, str | None, int, float, bool]]) -> pl.DataFrame:
    """Rows of package, trial, build, measurement, value, valid."""
    names = ["package", "trial_id", "build_id", "measurement", "value", "valid"]
    return pl.DataFrame(
        rows, schema=names, orient="row", schema_overrides={"build_id": pl.String}
    ).with_columns(
        response=pl.lit("wall_time_s"), unit=pl.lit("s"), attempt=pl.lit(1), experiment=pl.lit("e")
    )


def test_values_lie_by_build_and_execution_in_the_order_of_measurements() -> None:
    second, first = gather(make_table()).versions
    assert (second.version, first.version) == ("2.0", "1.0")
    assert second.values.tolist() == [3.0, 4.0, 1.0, 2.0]
    assert second.executions.tolist() == [0, 2, 3, 4]
    assert second.builds.tolist() == [0, 1, 3]
    # As numbers 9 comes before 10, as texts it would not.
    assert first.values.tolist() == [11.0, 12.0]


def test_text_columns_of_a_csv_file_give_the_same_as_numbers() -> None:
    texts = make_table().cast(pl.String)
    for found, expected in zip(gather(texts).versions, gather(make_table()).versions, strict=True):
        assert found.values.tolist() == expected.values.tolist()
        assert found.builds.tolist() == expected.builds.tolist()


def test_a_column_that_is_missing_is_a_level_that_is_not_repeated() -> None:
    (found,) = gather(pl.DataFrame({"value": [3.0, 1.0, 2.0]})).versions
    assert (found.version, found.build_count, found.execution_count) == ("all", 1, 1)
    assert found.values.tolist() == [3.0, 1.0, 2.0]


def test_builds_of_the_same_number_in_two_versions_are_different_builds() -> None:
    table = pl.DataFrame({"version": ["a", "b"] * 2, "build": [1, 1, 2, 2], "value": [1.0, 2.0, 3.0, 4.0]})
    assert [found.build_count for found in gather(table).versions] == [2, 2]
    assert [found.values.tolist() for found in gather(table).versions] == [[1.0, 3.0], [2.0, 4.0]]


def test_columns_can_have_other_names() -> None:
    table = make_table().rename({"version": "commit", "value": "seconds"})
    found = gather(table, version="commit", value="seconds").versions
    assert [item.version for item in found] == ["2.0", "1.0"]
    assert found[0].response == "seconds"


def test_one_of_several_responses_is_chosen_and_lines_are_those_of_the_file() -> None:
    table = make_table().cast(pl.String).with_columns(response=pl.Series(["time", "size"] * 3))
    assert gather(table, response="size").versions[0].response == "size"
    with pytest.raises(InputError, match="2 responses"):
        gather(table)
    bad = table.with_columns(value=pl.Series(["x", "1", "2", "oops", "3", "4"]))
    with pytest.raises(InputError, match='"oops"') as caught:
        gather(bad, response="size")
    assert caught.value.where == "t.csv:5"


def test_different_units_of_two_versions_are_refused() -> None:
    table = make_table().with_columns(unit=pl.Series(["s", "s", "ms", "ms", "s", "s"]))
    with pytest.raises(InputError, match=r'of 2\.0 is in "s", of 1\.0 in "ms"'):
        gather(table)


def test_different_units_inside_a_version_are_refused() -> None:
    with pytest.raises(InputError, match="in several units"):
        gather(make_table().with_columns(unit=pl.Series(["s", "ms", "s", "s", "s", "s"])))


def test_a_measurement_that_stands_there_twice_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match="measurement 1 of the same execution stands there twice") as caught:
        gather(make_table([*ROWS, ("2.0", "a", 2, 1, 9.0)]))
    assert caught.value.where == "t.csv:8"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"version": "comit"}, "no column"),
        ({"value": "build", "build": "build"}, "named twice"),
    ],
)
def test_columns_that_are_missing_or_named_twice_are_refused(columns: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        gather(make_table(), **columns)


def test_an_empty_cell_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match="build has no level") as caught:
        gather(make_table().with_columns(build=pl.Series(["a", None, "a", "a", "a", "a"])))
    assert caught.value.where == "t.csv:3"


def test_trials_of_a_tidy_table_with_one_build_id_are_executions_of_one_build() -> None:
    table = make_tidy(
        [
            ("xz", "t1", "b1", 1, 2.0, True),
            ("xz", "t1", "b1", 0, 1.0, False),
            ("xz", "t2", "b2", 0, 3.0, True),
            ("xz", "t3", "b1", 0, 4.0, True),
        ]
    )
    found = gather(table)
    (xz,) = found.versions
    assert (xz.version, xz.unit, found.excluded) == ("xz", "s", 1)
    assert xz.build_count == 2
    assert xz.values.tolist() == [2.0, 4.0, 3.0]


def test_column_build_tells_builds_apart_where_their_identity_is_unknown() -> None:
    rows = [("xz", f"t{index}", None, 0, float(index), True) for index in range(4)]
    table = make_tidy(rows)  # type: ignore[arg-type]
    assert gather(table).versions[0].build_count == 1
    assert gather(table.with_columns(build=pl.Series([1, 1, 2, 2]))).versions[0].build_count == 2


def test_versions_of_a_tidy_table_are_packages_or_design_points_in_the_order_of_levels() -> None:
    table = make_tidy([(name, f"t{index}", "b", 0, 1.0 * index, True) for index, name in enumerate("ab" * 4)])
    assert [item.version for item in gather(table).versions] == ["a", "b"]
    table = table.with_columns(opt=pl.Series(["O3", "O3", "O2", "O2"] * 2))
    found = gather_nested(table, NestingColumns(), levels={"opt": ("O3", "O2")}).versions
    assert [item.version for item in found] == ["a, opt=O3", "a, opt=O2", "b, opt=O3", "b, opt=O2"]
    assert all(len(item.values) == 2 for item in found)


def test_versions_of_a_tidy_table_know_the_builds_that_they_share_and_those_of_two_tables_share_none() -> (
    None
):
    rows = [("a", f"t{at}", f"b{at // 2}", 0, 1.0 * at, True) for at in range(6)]
    table = make_tidy(rows).with_columns(aslr=pl.Series(["on", "off"] * 3))  # type: ignore[arg-type]
    off, on = gather(table).versions
    assert on.build_names == off.build_names
    assert len(set(on.build_names)) == 3
    (other, _) = gather_nested(table, NestingColumns(), source="u.csv").versions
    assert not set(other.build_names).intersection(on.build_names)
    assert gather(make_table()).versions[0].build_names == ()


def test_two_packages_do_not_share_builds_of_the_same_number() -> None:
    table = make_tidy([(name, f"t{index}", None, 0, 1.0, True) for index, name in enumerate("ab" * 2)])
    found = gather(table.with_columns(build=pl.Series([1, 1, 2, 2]))).versions
    assert [item.build_count for item in found] == [2, 2]


def test_offsets_cover_all_values_of_ragged_data() -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "build": rng.integers(0, 5, 200),
            "execution": rng.integers(0, 4, 200),
            "value": rng.normal(size=200),
        }
    )
    (found,) = gather(table).versions
    assert found.executions[-1] == 200
    assert found.builds[-1] == found.execution_count
    assert np.sort(found.values).tolist() == np.sort(table["value"].to_numpy()).tolist()


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_values_whose_squares_are_no_numbers_are_refused(size: float) -> None:
    with pytest.raises(InputError, match="squares are beyond"):
        gather(pl.DataFrame({"value": [1 * size, 2 * size]}))
    assert gather(pl.DataFrame({"value": [0.0, 0.0]})).versions[0].values.tolist() == [0.0, 0.0]


def test_columns_that_may_tell_builds_apart_under_another_name_are_named() -> None:
    table = make_table().rename({"build": "binary"})
    with pytest.raises(InputError) as caught:
        gather(table)
    assert "column binary is not used" in caught.value.remedy
    table = table.drop("measurement").with_columns(host=pl.lit("lab"), core=pl.Series([0, 1] * 3))
    (note,) = gather(table).notes
    assert note.startswith("there is no column of builds, and columns binary, core are not used")
    assert note.endswith("name the one that tells builds apart with build=")
    assert "execution=" not in note
    both = gather(table.drop("execution")).notes[0]
    assert both.endswith("build= and the one that tells executions apart with execution=")
    assert gather(make_table()).notes == ()
    assert gather(table, build="binary").notes == ()


def test_versions_whose_rows_alternate_and_why_the_first_is_first_are_known() -> None:
    assert gather(make_table()).interleaved
    assert not gather(make_table().sort("version")).interleaved
    assert gather(make_table()).first == "the first in the data"
    table = make_tidy([(name, f"t{index}", "b", 0, 1.0 * index, True) for index, name in enumerate("ba" * 4)])
    assert gather(table).first.startswith("the first by its name")
    given = gather_nested(table, NestingColumns(), levels={"package": ("b", "a")})
    assert (given.versions[0].version, given.first) == ("b", "the first in the experiment's order")
