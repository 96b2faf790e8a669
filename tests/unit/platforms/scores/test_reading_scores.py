import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from datamill import InputError
from datamill.verbs.inputs.scores import load_application, load_scores, read_application, read_scores

ROWS = {
    "machine": ["a", "a", "b", "b", "c", "c"],
    "benchmark": ["x", "y", "x", "y", "x", "y"],
    "seconds": [10.0, 40.0, 5.0, 30.0, 2.0, 8.0],
}


def change(**columns: list) -> pl.DataFrame:
    return pl.DataFrame({**ROWS, **columns}, strict=False)


def refuse(table: object, *parts: str) -> None:
    with pytest.raises(InputError) as caught:
        load_scores(table)
    for part in parts:
        assert part in str(caught.value)
    assert caught.value.remedy


def test_a_table_becomes_a_matrix_in_the_order_of_its_rows() -> None:
    matrix = read_scores(change())
    assert matrix.machines == ("a", "b", "c")
    assert matrix.benchmarks == ("x", "y")
    assert matrix.seconds.tolist() == [[10, 40], [5, 30], [2, 8]]
    assert matrix.kind == "seconds"
    assert np.isnan(matrix.noise).all()


def test_csv_parquet_pandas_arrow_and_a_dict_give_the_same_matrix(tmp_path: Path) -> None:
    frame = change()
    frame.write_csv(tmp_path / "scores.csv")
    frame.write_parquet(tmp_path / "scores.parquet")
    for source in (
        tmp_path / "scores.csv",
        str(tmp_path / "scores.parquet"),
        pd.DataFrame(ROWS),
        frame.to_arrow(),
        ROWS,
    ):
        assert read_scores(source).seconds.tolist() == read_scores(frame).seconds.tolist()


def test_replicates_become_a_geometric_mean_and_its_error() -> None:
    table = pl.DataFrame(
        {
            "machine": ["a"] * 4 + ["b"] * 2,
            "benchmark": ["x", "x", "y", "y", "x", "y"],
            "replicate": [1, 2, 1, 2, 1, 1],
            "seconds": [2.0, 8.0, 3.0, 3.0, 5.0, 6.0],
        }
    )
    matrix = read_scores(table)
    np.testing.assert_allclose(matrix.seconds, [[4, 3], [5, 6]], rtol=1e-15)
    # Logarithms differ by log 4: their deviation is log 4 / sqrt 2, the mean's error that over sqrt 2.
    assert matrix.noise[0, 0] == pytest.approx(math.log(4) / 2)
    assert matrix.noise[0, 1] == 0
    assert np.isnan(matrix.noise[1]).all()


def test_a_single_value_is_kept_to_its_last_digit() -> None:
    values = [699.275, 1006.257, 828.189, 0.1, 1 / 3, 7e-9]
    assert read_scores(change(seconds=values)).seconds.ravel().tolist() == values


def test_scores_become_their_reciprocals() -> None:
    matrix = read_scores(change().rename({"seconds": "score"}))
    assert matrix.kind == "score"
    assert matrix.seconds[0].tolist() == [1 / 10, 1 / 40]


def test_ratios_beside_seconds_are_neither_values_nor_facts() -> None:
    matrix = read_scores(change(base_ratio=[1, 2, 3, 4, 5, 6]))
    assert matrix.kind == "seconds"
    assert matrix.facts == {}


def test_columns_constant_within_machines_are_facts() -> None:
    matrix = read_scores(
        change(clock_mhz=["3000", "3000", "", "", "2000", "2000"], family=["P4", "P4", "", "", "K8", "K8"])
    )
    np.testing.assert_array_equal(matrix.facts["clock_mhz"], [3000, math.nan, 2000])
    assert matrix.families == ("P4", "", "K8")


def test_a_table_of_machines_gives_facts_by_name_but_no_results() -> None:
    machines = {
        "machine": ["c", "a", "z"],
        "cores": [4, 2, 1],
        "int_basemean": [1.0, 2.0, 3.0],
        "processor_id": [7, 8, 9],
        "family": ["Core", "P4", "VIA"],
        "microarchitecture": ["Nehalem", "NetBurst", "Nano"],
    }
    matrix = read_scores(change(), machines=machines)
    assert list(matrix.facts) == ["cores"]
    np.testing.assert_array_equal(matrix.facts["cores"], [2, math.nan, 4])
    assert matrix.families == ("NetBurst", "", "Nehalem")


def test_a_table_of_other_machines_is_said_to_tell_nothing() -> None:
    loaded = load_scores(change(), machines={"machine": ["q"], "cores": [1]})
    assert loaded.notes == ("the table of machines has none of the machines of the scores",)


def test_a_table_of_machines_with_a_machine_twice_is_refused() -> None:
    with pytest.raises(InputError, match="machine a has two rows"):
        load_scores(change(), machines={"machine": ["a", "a"], "cores": [1, 2]})


def test_numbers_of_machines_stay_whole() -> None:
    assert read_scores(change(machine=[101, 101, 73, 73, 80, 80])).machines == ("101", "73", "80")
    assert read_scores(
        pd.DataFrame({**ROWS, "machine": [101.0, 101.0, 73.0, 73.0, 80.0, 80.0]})
    ).machines == ("101", "73", "80")


@pytest.mark.parametrize("empty", ["", "NA", "nan", "NR"])
def test_a_missing_value_stays_missing(empty: str) -> None:
    loaded = load_scores(change(seconds=["10", empty, "5", "30", "2", "8"]))
    assert np.isnan(loaded.matrix.seconds[0, 1])
    assert np.isfinite(loaded.matrix.seconds).sum() == 5


def test_a_missing_row_is_a_missing_value() -> None:
    loaded = load_scores(change().head(5))
    assert np.isnan(loaded.matrix.seconds[2, 1])


def test_a_benchmark_without_any_value_is_left_out() -> None:
    table = pl.concat(
        [
            change(),
            pl.DataFrame({"machine": ["a"], "benchmark": ["z"], "seconds": [None]}, schema=change().schema),
        ]
    )
    loaded = load_scores(table)
    assert loaded.matrix.benchmarks == ("x", "y")
    assert "z, which are left out" in loaded.notes[0]


def test_a_benchmark_that_is_constant_is_kept_with_a_warning() -> None:
    loaded = load_scores(change(seconds=[10, 7, 5, 7, 2, 7]))
    assert loaded.matrix.benchmarks == ("x", "y")
    assert loaded.notes[0].startswith("y: the same on every machine")


@pytest.mark.parametrize("value", ["0", "-3", "inf", "-inf", "1e200", "1e-200"])
def test_a_value_that_is_not_positive_and_finite_is_refused_with_its_line(value: str, tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text(f"machine,benchmark,seconds\na,x,1\na,y,{value}\nb,x,1\nb,y,2\n")
    why = "outside 1e-150 to 1e150" if value.startswith("1e") else "not a positive finite number"
    refuse(file, "scores.csv:3", why)


def test_a_value_that_is_no_number_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text('machine,benchmark,seconds\na,"x\nz",1\na,y,"1,5"\n')
    refuse(file, "scores.csv:4", 'seconds is "1,5"')


def test_blanks_around_names_of_columns_are_no_part_of_them(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("machine, benchmark, seconds\na, x, 1\na, y, 2\nb, x, 3\nb, y, 4\n")
    matrix = read_scores(file)
    assert matrix.benchmarks == ("x", "y")
    assert matrix.seconds.tolist() == [[1, 2], [3, 4]]
    file.write_text("machine,benchmark,seconds, seconds\na,x,1,1\n")
    refuse(file, "scores.csv", 'column "seconds" stands there twice')


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"], ids=["no bytes", "blank lines", "a mark of order"])
def test_an_empty_file_is_called_empty(text: str, tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text(text, encoding="utf-8")
    refuse(file, "scores.csv", "the file is empty")


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "with a mark of order"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["unix", "windows"])
def test_line_ends_and_marks_of_order_change_nothing(mark: str, ending: str, tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    lines = ["machine,benchmark,seconds", "a,x,1", "a,y,2", "b,x,3", "b,y,4", ""]
    file.write_bytes((mark + ending.join(lines)).encode())
    matrix = read_scores(file)
    assert (matrix.machines, matrix.benchmarks) == (("a", "b"), ("x", "y"))
    assert matrix.seconds.tolist() == [[1, 2], [3, 4]]


def test_truth_values_are_no_times() -> None:
    refuse(change(seconds=[True] * 6), "column seconds holds Boolean")


def test_a_repeated_benchmark_is_refused() -> None:
    refuse(change(benchmark=["x", "x", "x", "y", "x", "y"]), "x of a is given twice", "replicate")


def test_a_repeated_replicate_is_refused() -> None:
    table = change(benchmark=["x", "x", "x", "y", "x", "y"], replicate=[1, 1, 1, 1, 1, 1])
    refuse(table, "replicate 1 of x of a is given twice")


def test_seconds_and_score_in_one_row_are_refused() -> None:
    refuse(change(score=[1, 2, 3, 4, 5, 6]), "both seconds and score")


def test_an_empty_column_of_scores_beside_seconds_is_no_matter() -> None:
    assert read_scores(change(score=[None] * 6)).kind == "seconds"


def test_a_benchmark_of_scores_beside_one_of_seconds_is_taken() -> None:
    table = change(seconds=[10, None, 5, None, 2, None], score=[None, 4, None, 5, None, 6])
    matrix = read_scores(table)
    assert matrix.kind == "score"
    assert matrix.seconds.tolist() == [[10, 1 / 4], [5, 1 / 5], [2, 1 / 6]]


def test_seconds_and_scores_mixed_in_one_benchmark_are_refused() -> None:
    table = change(seconds=[10, 40, None, 30, 2, 8], score=[None, None, 3, None, None, None])
    refuse(table, "benchmark x has seconds in some rows and a score in others")


def test_milliseconds_in_a_column_of_seconds_are_refused() -> None:
    refuse(change(unit=["s", "s", "s", "ms", "s", "s"]), 'unit says "ms"')


def test_scores_of_two_units_in_one_benchmark_are_refused() -> None:
    table = change(unit=["MB/s", "op/s", "MB/s", "op/s", "GB/s", "op/s"]).rename({"seconds": "score"})
    refuse(table, 'benchmark x is in "MB/s" in some rows and in "GB/s" in others')


def test_one_machine_is_refused() -> None:
    refuse(change().head(2), "one machine only, a")


def test_one_benchmark_is_refused() -> None:
    refuse(change().filter(pl.col("benchmark") == "x"), "one benchmark only, x")


def test_a_table_without_values_or_names_is_refused() -> None:
    refuse(change().drop("seconds"), "no column seconds and no column score")
    refuse(change().drop("machine"), "no column machine")
    refuse(change().head(0), "no rows")
    refuse(change(seconds=[None] * 6), "holds no value")
    refuse(change(benchmark=["x", "", "x", "y", "x", "y"]), "column benchmark is empty in a row")


def test_times_are_named_after_their_column_or_their_file(tmp_path: Path) -> None:
    matrix = read_scores(change())
    file = tmp_path / "render.csv"
    file.write_text("machine,seconds\na,3\nb,4\n")
    assert read_application(file, matrix).name == "render"
    times = {"machine": ["a", "b"], "seconds": [3, 4]}
    assert read_application(times, matrix).name == "application"
    assert read_application({**times, "application": ["web", "web"]}, matrix).name == "web"


def test_of_several_applications_one_has_to_be_named() -> None:
    matrix = read_scores(change())
    times = {"machine": ["a", "b", "a", "b"], "benchmark": ["p", "p", "q", "q"], "seconds": [1, 2, 3, 4]}
    with pytest.raises(InputError, match="names 2 applications: p, q"):
        read_application(times, matrix)
    assert read_application(times, matrix, name="q").seconds.tolist() == [3, 4]
    with pytest.raises(InputError, match='no application "r"'):
        read_application(times, matrix, name="r")


def test_machines_that_the_suite_lacks_are_named_and_left_out() -> None:
    matrix = read_scores(change())
    loaded = load_application({"machine": ["q", "c", "a"], "seconds": [9, 3, 4]}, matrix)
    assert loaded.times.machines == ("c", "a")
    assert loaded.times.seconds.tolist() == [3, 4]
    assert loaded.notes == ("the scores do not have q: its time is left out",)


def test_too_few_machines_that_the_suite_knows_are_refused() -> None:
    matrix = read_scores(change())
    with pytest.raises(
        InputError, match="scores have no machine q, r: 1 machine with times and scores is left"
    ):
        load_application({"machine": ["q", "r", "a"], "seconds": [9, 3, 4]}, matrix)
    with pytest.raises(InputError, match="on one machine only"):
        load_application({"machine": ["a"], "seconds": [9]}, matrix)


def test_times_that_mix_seconds_and_scores_are_refused() -> None:
    matrix = read_scores(change())
    times = {"machine": ["a", "b"], "seconds": [3, None], "score": [None, 2]}
    with pytest.raises(InputError, match="some rows have seconds and others a score"):
        load_application(times, matrix)


def test_a_machine_twice_in_the_times_is_refused_unless_replicates_are_numbered() -> None:
    matrix = read_scores(change())
    times = {"machine": ["a", "a", "b"], "seconds": [2, 8, 3]}
    with pytest.raises(InputError, match="a is given twice"):
        load_application(times, matrix)
    loaded = load_application({**times, "replicate": [1, 2, 1]}, matrix)
    assert loaded.times.seconds.tolist() == pytest.approx([4, 3])


@pytest.mark.parametrize("name", ["z", "Z", "401.z"])
def test_the_application_is_left_out_of_the_suite(name: str) -> None:
    third = change(benchmark=["401.z", "w"] * 3)
    matrix = read_scores(pl.concat([change(), third]))
    times = {"machine": ["a", "b"], "application": [name, name], "seconds": [3, 4]}
    loaded = load_application(times, matrix)
    assert loaded.matrix.benchmarks == ("x", "y", "w")
    assert "the application itself" in loaded.notes[0]


def test_a_benchmark_with_the_very_times_of_the_application_is_pointed_out() -> None:
    matrix = read_scores(change())
    times = {"machine": ["a", "b", "c"], "seconds": [10.0, 5.0, 2.0]}
    loaded = load_application(times, matrix)
    assert loaded.matrix.benchmarks == ("x", "y")
    assert loaded.notes[0].startswith("x took exactly as long as application wherever that was measured")
    assert load_application({**times, "seconds": [10.0, 5.0, 2.1]}, matrix).notes == ()
    assert load_application({"machine": ["a", "b"], "seconds": [10.0, 5.0]}, matrix).notes == ()


def test_a_suite_with_nothing_but_the_application_is_refused() -> None:
    matrix = read_scores(change())
    times = {"machine": ["a", "b"], "application": ["x", "x"], "seconds": [3, 4]}
    with pytest.raises(InputError, match="one benchmark only, y"):
        load_application(times, matrix)
