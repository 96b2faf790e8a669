"""Files that cannot be imported: what is wrong, where, and what to do."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import datamill
from datamill.experiment.errors import InputError
from datamill.results.foreign.files import load_content
from datamill.results.foreign.importing import import_files
from datamill.results.foreign.recognise import recognise_format

FOLDER = Path(__file__).parents[3] / "foreign"


def refuse(path: Path, **options: str) -> InputError:
    with pytest.raises(InputError) as caught:
        import_files([path], **options)
    return caught.value


def write(folder: Path, content: object, name: str = "results.json") -> Path:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"\x7fELF\x02\x01\x00\x00", "not text"),
        (b"\xff\xfe\x00", "not text"),
        (b"\x1f\x8b\x08\x00broken", "not whole"),
        ('{"a": 1}', "not recognised"),
        ("hello", "not recognised"),
        ("[]", "not recognised"),
        ("a,b\n1,2\n", "datamill analyze"),
        ('{"reason": "other"}\n{"x": 1}\n', "JSON lines of no known tool"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_result_file(tmp_path: Path, content: bytes | str, words: str) -> None:
    assert words in str(refuse(write(tmp_path, content)))


def test_an_unknown_format_names_those_that_were_tried(tmp_path: Path) -> None:
    remedy = refuse(write(tmp_path, "hello")).remedy
    for name in (
        "hyperfine",
        "pyperf",
        "pytest-benchmark",
        "google-benchmark",
        "jmh",
        "criterion",
        "benchfmt",
        "rebench",
        "asv",
    ):
        assert name in remedy


@pytest.mark.parametrize(
    "name", ["hyperfine.json", "pyperf.json", "pytest-benchmark.json", "jmh.json", "google-1.json"]
)
def test_truncated_json_names_its_line(tmp_path: Path, name: str) -> None:
    text = (FOLDER / name).read_text()
    error = refuse(write(tmp_path, text[: len(text) // 2]))
    assert "the JSON ends before it is complete" in error.message
    assert int(error.where.rpartition(":")[2]) == text[: len(text) // 2].count("\n") + 1


def test_json_with_a_mistake_names_its_line(tmp_path: Path) -> None:
    error = refuse(write(tmp_path, '{\n"results": [\n{"command" "x"}\n]\n}'))
    assert error.where.endswith(":3")
    assert "not JSON" in error.message


REBENCH = "invocation\titeration\tvalue\tunit\tcriterion\tbenchmark\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"results": [{"command": "x"}]}, 'the field "results[0].times" is missing'),
        ({"results": [{"command": "x", "times": ["1"]}]}, 'the field "results[0].times[0]" is wrong'),
        ({"results": [{"command": "x", "times": []}]}, "it holds no observation"),
        ({"benchmarks": [{"runs": [{"values": 3}]}], "version": "1.0"}, "benchmarks[0].runs[0].values"),
        ({"benchmarks": [{"runs": []}]}, 'the field "version" is missing'),
        ({"machine_info": {}, "commit_info": {}, "benchmarks": [{"name": "b"}]}, "benchmarks[0].stats"),
        ({"machine_info": {}, "commit_info": {}, "benchmarks": [{"name": "b", "stats": {"data": ["x"]}}]},
         "benchmarks[0].stats.data[0]"),
        ({"machine_info": {}, "commit_info": {}, "benchmarks": []}, "it holds no observation"),
        ([{"benchmark": "b", "mode": "ss", "primaryMetric": {}}], '"primaryMetric.scoreUnit" is missing'),
        ([{"benchmark": "b", "primaryMetric": {"scoreUnit": "s/op"}}], 'the field "mode" is missing'),
        ({"context": {}, "benchmarks": [{"name": "b", "real_time": "x"}]}, 'the field "real_time" is wrong'),
        ({"version": 1, "commit_hash": "a", "results": {}}, "version 1; version 2 can be read"),
        ({"version": 2, "commit_hash": "a", "results": {}}, 'the field "result_columns" is missing'),
        (
            {"version": 2, "commit_hash": "a", "result_columns": ["result", "params"],
             "results": {"b.time_x": [[1.0], [["1", "2"]]]}},
            '["b.time_x"] has 1 results for 2 combinations',
        ),
        ({"iters": [1], "times": [2]}, "the benchmark has no name"),
        ('{"reason":"benchmark-complete","id":"x","unit":"ns"}', 'the field "iteration_count" is missing'),
        ('{"reason":"benchmark-complete","id":"x","unit":"ns","iteration_count":[1,2],"measured_values":[3]}',
         "1 measured totals do not go with 2"),
        (f"{REBENCH}1\t1\tx\tms\ttotal\tb\n", '"x" is not a number'),
        (f"{REBENCH}1\t1\t2\n", "the line has 3 fields, not 6"),
        ("BenchmarkX-2 10 5\n", "not recognised"),
    ],
)  # fmt: skip
def test_a_missing_or_wrong_field_is_named(tmp_path: Path, content: object, words: str) -> None:
    error = refuse(write(tmp_path, content))
    assert words in str(error)
    assert str(tmp_path / "results.json") in error.where


def test_a_torn_last_line_of_json_lines_is_named(tmp_path: Path) -> None:
    text = (FOLDER / "cargo-criterion.jsonl").read_text()
    error = refuse(write(tmp_path, text[:-50], "torn.jsonl"))
    assert error.where.endswith(f":{len(text.splitlines())}")


def test_values_that_are_no_numbers_stay_as_rows_with_a_reason(tmp_path: Path) -> None:
    path = write(tmp_path, '{"results": [{"command": "x", "times": [1.5, NaN, null, Infinity]}]}')
    table = import_files([path]).table
    assert table["value"].to_list() == [1.5, None, None, None]
    assert table["valid"].to_list() == [True, False, False, False]
    assert table["exclusion"].to_list() == [
        None, "the file holds nan", "the file gives no value", "the file holds inf",
    ]  # fmt: skip


def test_a_line_that_only_begins_like_a_result_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, "BenchmarkA-2 10 5 ns/op\nBenchmarkB-2 10 5\nBenchmarkC-2 1x 5 ns/op\n", "go.txt")
    imported = import_files([path])
    assert imported.table["benchmark"].to_list() == ["A"]
    assert [note.partition(",")[0] for note in imported.files[0].notes] == [
        "line 2 begins like a result", "line 3 begins like a result",
    ]  # fmt: skip


def test_exports_of_summaries_say_how_to_get_the_observations() -> None:
    error = refuse(FOLDER / "hyperfine.csv")
    assert "holds summaries" in error.message
    assert "--export-json" in error.remedy


def test_pytest_benchmark_saved_without_data_says_how_to_get_them() -> None:
    error = refuse(FOLDER / "pytest-benchmark-summary.json")
    assert "benchmarks[0].stats.data" in error.message
    assert "--benchmark-json" in error.remedy
    assert "--benchmark-save-data" in error.remedy


def test_a_folder_that_is_not_criterions(tmp_path: Path) -> None:
    assert "this is a folder" in refuse(tmp_path).message


def test_a_folder_of_asv_is_read_where_it_holds_the_results_of_one_run(tmp_path: Path) -> None:
    results = {
        "version": 2, "commit_hash": "abc", "result_columns": ["result", "params"],
        "results": {"bench.time_one": [[0.25], []]},
    }  # fmt: skip
    machine = tmp_path / "machine"
    machine.mkdir()
    write(tmp_path, {"version": 2}, "benchmarks.json")
    write(machine, {"cpu": "one"}, "machine.json")
    write(machine, results, "abc-existing.json")
    content, _ = load_content(tmp_path)
    [execution] = recognise_format(content).read(content).executions
    assert (execution.benchmark, execution.series[0].values) == ("bench.time_one", [0.25])
    write(machine, results, "def-existing.json")
    assert refuse(tmp_path).message == "this folder holds the results of 2 runs of asv"


def test_a_sample_without_its_name(tmp_path: Path) -> None:
    path = write(tmp_path, (FOLDER / "criterion/clone/new/sample.json").read_text(), "sample.json")
    assert "benchmark.json is not in the folder of sample.json" in refuse(path).message


def test_a_forced_format_that_does_not_fit() -> None:
    assert "the file is not JMH JSON" in refuse(FOLDER / "hyperfine.json", forced="jmh").message
    assert 'Did you mean "jmh"?' in refuse(FOLDER / "hyperfine.json", forced="jhm").remedy


def test_the_same_file_or_a_copy_of_it_is_not_counted_twice(tmp_path: Path) -> None:
    copy = write(tmp_path, (FOLDER / "go.txt").read_bytes(), "copy.txt")
    for paths, words in (
        ([copy, copy], "given twice"),
        ([FOLDER / "go.txt", copy], "the same content"),
    ):
        with pytest.raises(InputError, match=words):
            import_files(paths)


def test_text_from_a_windows_shell_and_compressed_files_are_read(tmp_path: Path) -> None:
    data = (FOLDER / "go.txt").read_bytes()
    expected = import_files([FOLDER / "go.txt"]).table["value"].to_list()
    wide = write(tmp_path, (FOLDER / "go.txt").read_text().replace("\n", "\r\n").encode("utf-16"), "wide.txt")
    packed = write(tmp_path, gzip.compress(data), "packed.txt.gz")
    marked = write(tmp_path, b"\xef\xbb\xbf" + data, "marked.txt")
    for path in (wide, packed, marked):
        assert import_files([path]).table["value"].to_list() == expected


def test_a_number_that_only_python_reads_is_none_to_go(tmp_path: Path) -> None:
    found = import_files([write(tmp_path, "BenchmarkA 1 1_6 ns/op\nBenchmarkA 1 16 ns/op\n", "a.txt")])
    assert found.table["value"].to_list() == [16e-9]
    assert any('"1_6" is not a number' in note for note in found.files[0].notes)


def test_a_table_with_a_suffix_that_no_verb_reads_as_one_is_to_be_renamed(tmp_path: Path) -> None:
    rows = "version,build,execution,measurement,value\n" + "".join(
        f"{version},{build},0,0,{10 + build}\n" for version in "ab" for build in range(4)
    )
    table = tmp_path / "table.txt"
    table.write_text(rows)
    with pytest.raises(InputError, match="format is not recognised") as refused:
        datamill.compare(table)
    assert refused.value.remedy.endswith("rename it to .csv for datamill analyze and compare.")
    datamill.compare(table.rename(table.with_suffix(".csv")))
