from pathlib import Path

import numpy as np
import polars as pl
import pytest
from unit.results.foreign.suites.suite_files import COMPOSITE, RATE_2006, write_speed

from datamill import InputError
from datamill.results.foreign.suites.reading_suites import read_suites
from datamill.verbs.inputs.scores import load_scores, read_scores


@pytest.fixture
def write(tmp_path: Path):
    def put(name: str, text: str) -> Path:
        file = tmp_path / name
        file.write_text(text)
        return file

    return put


def test_speed_results_of_spec_have_every_iteration_and_facts(write) -> None:
    file = write("CPU2017.001.csv", write_speed({"600.a_s": [200.0, 198.5, 202.0], "602.b_s": [300.0]}))
    table = read_suites([file]).table
    assert table["machine"].unique().to_list() == ["Box 1 / Chip 2000"]
    assert table.filter(pl.col("benchmark") == "600.a_s")["seconds"].to_list() == [200.0, 198.5, 202.0]
    assert table["replicate"].to_list() == [1, 2, 3, 1]
    facts = table.row(0, named=True)
    assert facts["clock_mhz"] == 2500
    assert facts["cores"] == 8
    assert facts["chips"] == 2
    assert facts["l3_kb"] == 16 * 1024
    assert facts["memory_kb"] == 64 * 1024**2


def test_a_model_that_names_its_processor_is_called_by_that_alone(write) -> None:
    text = write_speed({"600.a_s": [200.0]}, model="Box 2 (Chip 2000, 2.50 GHz)")
    assert read_suites([write("x.csv", text)]).table["machine"][0] == "Box 2 (Chip 2000, 2.50 GHz)"


def test_rates_of_spec_are_scores_since_copies_differ(write) -> None:
    table = read_suites([write("old.csv", RATE_2006)]).table
    assert table["score"].to_list() == [78.2, 76.6, 48.2]
    assert table["seconds"].to_list() == [None] * 3
    assert table["machine"][0] == "Old Chip"
    assert table.row(0, named=True)["cores"] == 4
    assert table.row(0, named=True)["l2_kb"] == 512


def test_estimates_of_spec_are_read_as_results(write) -> None:
    text = (
        write_speed({"600.a_s": [200.0]})
        .replace("Base Run", "Est. Base Run")
        .replace("Base Ratio", "Est. Base Ratio")
    )
    assert read_suites([write("x.csv", text)]).table["seconds"].to_list() == [200.0]


def test_iterations_that_failed_are_left_out_and_counted(write) -> None:
    read = read_suites([write("x.csv", write_speed({"600.a_s": [200.0]}, failed=["605.c_s"]))])
    assert read.table["benchmark"].to_list() == ["600.a_s"]
    assert read.notes == ("x.csv: 1 iteration left out that did not succeed",)


def test_a_file_of_spec_without_success_is_refused(write) -> None:
    with pytest.raises(InputError, match="no base run of it succeeded"):
        read_suites([write("x.csv", write_speed({}, failed=["600.a_s"]))])


def test_integer_and_floating_point_files_of_one_machine_become_one(write, tmp_path: Path) -> None:
    for index, processor in enumerate(["P", "Q"]):
        write(f"int{index}.csv", write_speed({"600.a_s": [200.0 + index]}, processor=processor))
        write(f"fp{index}.csv", write_speed({"619.l_s": [90.0 + index]}, processor=processor))
    loaded = load_scores(tmp_path)
    assert loaded.matrix.machines == ("Box 1 / P", "Box 1 / Q")
    assert loaded.matrix.benchmarks == ("619.l_s", "600.a_s")
    assert loaded.matrix.seconds.tolist() == [[90, 200], [91, 201]]
    assert list(loaded.matrix.facts) == ["clock_mhz", "cores", "chips", "l2_kb", "l3_kb", "memory_kb"]
    assert "taken together" in loaded.notes[0]


def test_results_of_one_model_that_overlap_are_several_machines(write) -> None:
    files = [
        write(f"{name}.csv", write_speed({"600.a_s": [time], "602.b_s": [9.0]}))
        for name, time in [("x", 1.0), ("y", 2.0)]
    ]
    assert read_scores(files).machines == ("Box 1 / Chip 2000 (x)", "Box 1 / Chip 2000 (y)")


def test_the_same_file_twice_is_refused(write) -> None:
    text = write_speed({"600.a_s": [200.0]})
    with pytest.raises(InputError, match="same content"):
        read_suites([write("x.csv", text), write("y.csv", text)])


def test_a_table_among_files_of_suites_is_refused(write) -> None:
    files = [
        write("x.csv", write_speed({"600.a_s": [200.0]})),
        write("t.csv", "machine,benchmark,seconds\na,b,1\n"),
    ]
    with pytest.raises(InputError, match=r"t\.csv: this is neither"):
        read_suites(files)


def test_phoronix_results_keep_direction_and_units(write) -> None:
    loaded = load_scores(write("composite.xml", COMPOSITE))
    matrix = loaded.matrix
    assert matrix.machines == ("alpha", "beta")
    assert matrix.benchmarks == ("pts/zip Level: 9 [Seconds]", "pts/copy [MB/s]", "pts/wait p99 [ms]")
    np.testing.assert_allclose(matrix.seconds, [[110**0.5, 1 / 4000, 0.25], [20, np.nan, 0.5]])
    assert matrix.facts["clock_mhz"].tolist() == [3400, 2100]
    assert matrix.facts["cores"].tolist() == [4, 16]
    assert matrix.facts["memory_kb"].tolist() == [2 * 8192 * 1024, 64 * 1024**2]
    assert matrix.kind == "score"
    assert "1 result of sensors, installations, graphs or failures left out" in loaded.notes[0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</PhoronixTestSuite>", "", "the XML is not whole"),
        (
            "<PhoronixTestSuite>",
            '<!DOCTYPE x [<!ENTITY a "b">]><PhoronixTestSuite>',
            "declares a document type",
        ),
        ("BAR_GRAPH", "LINE_GRAPH", "no result in it is a number"),
    ],
)
def test_broken_phoronix_files_are_refused(write, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_scores(write("composite.xml", COMPOSITE.replace(old, new)))


def test_an_empty_file_in_a_folder_is_named_and_left_out(write, tmp_path: Path) -> None:
    for name in ("x", "y"):
        write(f"{name}.csv", write_speed({"600.a_s": [2.0], "602.b_s": [9.0]}, model=name))
    write("z.csv", "")
    loaded = load_scores(tmp_path)
    assert len(loaded.matrix.machines) == 2
    assert loaded.notes[0] == f"files without content are left out: {tmp_path / 'z.csv'}"


def test_a_folder_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a bundle nor"):
        load_scores(tmp_path)
