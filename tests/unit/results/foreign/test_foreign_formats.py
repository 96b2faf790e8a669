"""Real files of each tool: every value, unit and process is where the tool put it."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import polars as pl
import pytest

from datamill.results.foreign.files import load_content
from datamill.results.foreign.importing import import_files
from datamill.results.foreign.recognise import FORMATS, recognise_format
from datamill.results.foreign.table import list_factors

FOLDER = Path(__file__).parents[3] / "foreign"
ASV = FOLDER / "asv" / "host" / "6737e387-existing.json"
FILES = {
    "hyperfine.json": "hyperfine",
    "hyperfine-memory.json": "hyperfine",
    "hyperfine-failures.json": "hyperfine",
    "pyperf.json": "pyperf",
    "pyperf-single.json": "pyperf",
    "pytest-benchmark.json": "pytest-benchmark",
    "google-1.json": "google-benchmark",
    "google-2.json": "google-benchmark",
    "jmh.json": "jmh",
    "jmh-gc.json": "jmh",
    "jmh-sample.json": "jmh",
    "cargo-criterion.jsonl": "cargo-criterion",
    "criterion": "criterion",
    "go.txt": "benchfmt",
    "go-events.jsonl": "benchfmt",
    "rebench.data": "rebench",
    "asv/host/6737e387-existing.json": "asv",
    "asv-run.txt": "asv-text",
}


def read(*names: str, **options: bool) -> pl.DataFrame:
    return import_files([FOLDER / name for name in names], **options).table


def load(name: str):
    return json.loads((FOLDER / name).read_text())


@pytest.mark.parametrize(("name", "expected"), FILES.items())
def test_a_file_is_claimed_by_its_own_format_and_by_no_other(name: str, expected: str) -> None:
    content, _ = load_content(FOLDER / name)
    assert [item.name for item in FORMATS if item.claims(content)] == [expected]
    assert recognise_format(content).name == expected


@pytest.mark.parametrize("name", FILES)
def test_every_row_is_valid_with_a_number_or_says_why_not(name: str) -> None:
    table = read(name)
    assert table.filter("valid")["value"].is_finite().all()
    assert table.filter(~pl.col("valid"))["exclusion"].str.len_chars().min() or table["valid"].all()
    assert table.filter(pl.col("valid") & pl.col("exclusion").is_not_null()).height == 0
    # No observation stands there twice.
    assert not table.filter("valid").select("trial_id", "response", "measurement").is_duplicated().any()


def test_hyperfine_has_a_process_for_each_time_and_a_factor_for_each_parameter() -> None:
    table = read("hyperfine.json")
    results = load("hyperfine.json")["results"]
    assert table["value"].to_list() == list(chain.from_iterable(item["times"] for item in results))
    assert table["trial_id"].n_unique() == table.height == 20
    assert table["benchmark"].unique().to_list() == ["sleep {n}"]
    assert list_factors(table) == ["how", "n"]
    assert table["unit"].unique().to_list() == ["s"]
    points = table.group_by("how", "n").agg(pl.col("replicate").sort())
    assert all(replicates == [1, 2, 3, 4, 5] for replicates in points["replicate"].to_list())


def test_hyperfines_running_maximum_of_memory_is_not_used() -> None:
    table = read("hyperfine-memory.json").filter(pl.col("response") == "peak_memory")
    # The program that does nothing "needs" what the one before it needed.
    assert table["value"].to_list()[-1] == table["value"].max() == 13737984
    assert not table["valid"].any()
    assert table["exclusion"].str.contains("any process so far").all()


def test_memory_of_processes_of_their_own_is_used(tmp_path: Path) -> None:
    results = load("hyperfine-memory.json")
    results["results"][-1]["memory_usage_byte"] = [2928640.0, 2900000.0, 2928640.0]
    (tmp_path / "own.json").write_text(json.dumps(results))
    table = import_files([tmp_path / "own.json"]).table
    assert table.filter(pl.col("response") == "peak_memory")["valid"].all()


def test_ignored_failures_of_hyperfine_are_said() -> None:
    imported = import_files([FOLDER / "hyperfine-failures.json"])
    assert imported.table["context.exit_code"].unique(maintain_order=True).to_list() == ["3", "137"]
    assert "6 processes ended with a status other than 0" in imported.files[0].notes[0]


def test_pyperf_runs_are_executions_and_warm_ups_are_excluded() -> None:
    table = read("pyperf.json")
    document = load("pyperf.json")
    values = [
        value
        for benchmark in document["benchmarks"]
        for run in benchmark["runs"]
        for value in run.get("values", [])
    ]
    used = table.filter("valid")
    assert used["value"].to_list() == values
    assert used["trial_id"].n_unique() == sum(
        "values" in run for benchmark in document["benchmarks"] for run in benchmark["runs"]
    )
    reasons = table["exclusion"].drop_nulls()
    assert set(reasons.str.extract("^([a-z-]+): ")) == {"warm-up", "calibration"}
    assert used["benchmark"].unique(maintain_order=True).to_list() == ["sort", "sum"]
    assert used["context.iterations"].unique().sort().to_list() == [32768, 65536]
    assert "context.python_version" in table.columns
    assert list_factors(table) == []


def test_pytest_benchmark_rounds_share_a_process_and_parameters_are_factors() -> None:
    table = read("pytest-benchmark.json")
    entries = load("pytest-benchmark.json")["benchmarks"]
    assert table["value"].to_list() == [value for entry in entries for value in entry["stats"]["data"]]
    assert table["unit"].unique().to_list() == ["s"]
    assert table["trial_id"].n_unique() == len(entries) == 6
    assert table["benchmark"].unique(maintain_order=True).to_list() == [
        "test_b.py::test_sort", "test_b.py::TestJoin::test_join", "test_b.py::test_object",
    ]  # fmt: skip
    sorts = table.filter(pl.col("benchmark") == "test_b.py::test_sort")
    assert set(sorts.select("kind", "size").unique().rows()) == {
        ("list", "1000"), ("list", "4000"), ("tuple", "1000"), ("tuple", "4000"),
    }  # fmt: skip
    assert set(sorts["context.iterations"]) == {5}
    assert set(table["context.group"]) == {None, "join"}
    assert set(table["context.node"]) == {"host"}
    assert "context.cpu.brand_raw" in table.columns


def test_an_object_as_parameter_of_pytest_benchmark_has_the_name_that_pytest_gives_it() -> None:
    # As JSON has it, it holds an address, and no two runs of the benchmark would have the same.
    (entry,) = (item for item in load("pytest-benchmark.json")["benchmarks"] if item["param"] == "odd")
    assert entry["params"]["data"].startswith("UNSERIALIZABLE[")
    table = read("pytest-benchmark.json").filter(pl.col("benchmark") == "test_b.py::test_object")
    assert set(table["param"]) == {"odd"}
    assert "data" not in table.columns


def test_google_benchmark_repetitions_share_a_process_and_aggregates_are_no_observations() -> None:
    table = read("google-1.json", "google-2.json")
    entries = [
        entry
        for name in ("google-1.json", "google-2.json")
        for entry in load(name)["benchmarks"]
        if entry["run_type"] == "iteration" and not entry.get("error_occurred")
    ]
    used = table.filter("valid")
    real = used.filter(pl.col("response") == "real_time")
    assert sorted(real["value"]) == pytest.approx(
        sorted(entry["real_time"] / {"ns": 1e9, "us": 1e6}[entry["time_unit"]] for entry in entries),
        rel=1e-15,
    )
    assert real["unit"].unique().to_list() == ["s"]
    assert set(real["context.reported_unit"]) == {"ns", "us"}
    # Four benchmarks that work, in two processes; three repetitions each.
    assert real["trial_id"].n_unique() == 8
    assert real.height == 24
    assert (
        table.filter(pl.col("exclusion") == "aggregate: median of the repetitions, no observation").height
        == 28
    )
    failed = table.filter(pl.col("exclusion") == "failed: no such device")
    assert failed["value"].null_count() == failed.height == 12
    pushes = used.filter(pl.col("benchmark") == "BM_Push<int>")
    assert set(pushes.select("arg1", "arg2").unique().rows()) == {("8", "4"), ("64", "4")}
    assert set(used.filter(pl.col("benchmark") == "BM_Sort")["n"]) == {"100", "1000"}
    assert set(used.filter(pl.col("response") == "bytes_per_second")["unit"]) == {"B/s"}
    assert set(used.filter(pl.col("response") == "swaps")["value"]) == {50.0, 500.0}


def test_jmh_forks_are_executions_with_iterations_inside() -> None:
    table = read("jmh.json")
    document = load("jmh.json")
    raw = [value for item in document for fork in item["primaryMetric"]["rawData"] for value in fork]
    scale = {"thrpt": 1e3, "avgt": 1e-6, "ss": 1e-6}
    factors = [scale[item["mode"]] for item in document for _ in range(9)]
    expected = [value * factor for value, factor in zip(raw, factors, strict=True)]
    assert table["value"].to_list() == pytest.approx(expected, rel=1e-15)
    assert table["trial_id"].n_unique() == 12 * 3
    assert list_factors(table) == ["factor.order", "size", "threads"]
    assert dict(table.select("response", "unit").unique().rows()) == {
        "throughput": "ops/s", "average_time": "s/op", "single_shot_time": "s/op",
    }  # fmt: skip
    assert table["measurement"].unique().sort().to_list() == [0, 1, 2]


def test_jmhs_megabytes_of_allocation_are_binary_ones() -> None:
    table = read("jmh-gc.json")
    wide = table.pivot("response", index=["trial_id", "measurement"], values="value")
    # Bytes a second are bytes an operation times operations a second, at most: the profiler's clock starts
    # before the first operation and stops after the last. Decimal megabytes would give at most 0.954.
    ratio = wide["gc.alloc.rate"] / (wide["gc.alloc.rate.norm"] / wide["average_time"])
    assert 0.98 < ratio.max() < 1.001


def test_jmh_histograms_are_written_out() -> None:
    table = read("jmh-sample.json").filter(pl.col("response") == "sample_time")
    histograms = load("jmh-sample.json")[0]["primaryMetric"]["rawDataHistogram"]
    pairs = [pair for fork in histograms for iteration in fork for pair in iteration]
    assert table.height == sum(count for _, count in pairs)
    assert table["value"].sum() == pytest.approx(
        sum(value * count for value, count in pairs) / 1e9, rel=1e-12
    )
    assert table["trial_id"].n_unique() == len(histograms)


def test_criterion_values_are_totals_divided_by_iterations() -> None:
    table = read("cargo-criterion.jsonl")
    messages = [json.loads(line) for line in (FOLDER / "cargo-criterion.jsonl").read_text().splitlines()]
    done = [item for item in messages if item["reason"] == "benchmark-complete"]
    expected = [
        total / count / 1e9
        for item in done
        for total, count in zip(item["measured_values"], item["iteration_count"], strict=True)
    ]
    assert table["value"].to_list() == pytest.approx(expected, rel=1e-15)
    assert table["trial_id"].n_unique() == len(done) == 5
    assert set(table.select("benchmark", "parameter").unique().rows()) == {
        ("sorting/stable", "100"), ("sorting/stable", "1000"), ("sorting/unstable", "100"),
        ("sorting/unstable", "1000"), ("clone", None),
    }  # fmt: skip


def test_criterions_folder_has_a_factor_for_baselines_and_no_copies() -> None:
    imported = import_files([FOLDER / "criterion"])
    table = imported.table
    measured = {path.read_text() for path in (FOLDER / "criterion").rglob("sample.json")}
    assert table["trial_id"].n_unique() == len(measured)
    assert "copies" in imported.files[0].notes[0]
    stable = table.filter((pl.col("benchmark") == "sorting/stable") & (pl.col("parameter") == "100"))
    assert set(stable["baseline"]) == {"before", "new"}
    sample = json.loads((FOLDER / "criterion/sorting/stable/100/before/sample.json").read_text())
    expected = [time / count / 1e9 for time, count in zip(sample["times"], sample["iters"], strict=True)]
    assert stable.filter(pl.col("baseline") == "before")["value"].to_list() == pytest.approx(
        expected, rel=1e-15
    )


def test_one_sample_json_of_criterion_is_enough() -> None:
    table = read("criterion/sorting/stable/100/before/sample.json")
    assert table.select("benchmark", "parameter").unique().rows() == [("sorting/stable", "100")]
    assert "baseline" not in table.columns


def test_go_names_and_metrics_are_split_as_benchstat_does() -> None:
    table = read("go.txt")
    # Three processes, five benchmarks each, two measurements of each.
    assert table["trial_id"].n_unique() == 15
    assert list_factors(table) == ["branch", "pkg", "alg", "size", "gomaxprocs"]
    first = table.filter(pl.col("trial_id") == table["trial_id"][0])
    assert first.filter(pl.col("measurement") == 0).select("response", "unit", "value").rows() == [
        ("sec/op", "s/op", 1.267e-06), ("B/s", "B/s", 631240000.0), ("items/op", "items/op", 100.0),
        ("B/op", "B/op", 896.0), ("allocs/op", "allocs/op", 1.0),
    ]  # fmt: skip
    assert first["context.iterations"].unique(maintain_order=True).to_list() == [20944, 30469]
    assert first["context.goos"][0] == "linux"
    assert first.select("alg", "size", "gomaxprocs", "branch").unique().rows() == [
        ("sort", "100", "2", "main")
    ]


def test_go_events_hold_the_same_text_in_pieces() -> None:
    table = read("go-events.jsonl")
    assert table["benchmark"].to_list() == ["Clone", "Clone"]
    assert table["trial_id"].n_unique() == 1
    assert table["value"][0] == 3.606e-06


def test_rebench_invocations_are_executions() -> None:
    table = read("rebench.data")
    lines = [line for line in (FOLDER / "rebench.data").read_text().splitlines() if not line.startswith("#")]
    assert table["value"].to_list() == pytest.approx(
        [float(line.split("\t")[2]) / 1e3 for line in lines[1:]], rel=1e-15
    )
    assert table["trial_id"].n_unique() == 8
    assert set(table.select("benchmark", "inputSize").unique().rows()) == {
        ("Sort", "10"), ("Sort", "100"), ("Reverse", "10"), ("Reverse", "100"),
    }  # fmt: skip
    assert table["response"].unique().to_list() == ["total"]
    assert table["context.osType"][0] == "Linux"


def test_asv_parameters_samples_and_what_has_none() -> None:
    table = read("asv/host/6737e387-existing.json")
    times = table.filter(pl.col("benchmark") == "sorting.Sorting.time_sorted")
    document = json.loads(ASV.read_text())
    recorded = document["results"]["sorting.Sorting.time_sorted"][document["result_columns"].index("samples")]
    assert times.filter("valid")["value"].to_list() == [
        value for values in recorded if values for value in values
    ]
    assert set(times.select("size", "factor.order").unique().rows()) == {
        ("100", "random"), ("100", "sorted"), ("1000", "random"), ("1000", "sorted"),
    }  # fmt: skip
    skipped = times.filter(pl.col("exclusion") == "skipped (n/a)")
    assert skipped.select("size", "factor.order").rows() == [("1000", "sorted")]
    failed = table.filter(pl.col("benchmark") == "sorting.time_fails")
    assert failed["exclusion"].to_list() == ["failed"]
    assert table.filter(pl.col("benchmark") == "sorting.track_answer")["unit"].to_list() == ["points"]
    assert table.filter(pl.col("response") == "peak_memory")["unit"].unique().to_list() == ["B"]


def test_asv_without_benchmarks_json_numbers_its_parameters(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(ASV.read_text())
    table = import_files([tmp_path / "result.json"]).table
    assert {"param1", "param2", "param3"} <= set(table.columns)


def test_what_asv_prints_agrees_with_what_it_stores() -> None:
    printed, stored = read("asv-run.txt"), read("asv/host/6737e387-existing.json")
    keys = ["benchmark", "size", "factor.order", "n", "kind", "flag", "response"]
    means = stored.group_by(keys).agg(pl.col("value").median().alias("stored"), pl.col("exclusion").first())
    both = printed.join(means, on=keys, nulls_equal=True, how="full")
    assert both.height == printed.height == 22
    assert both["exclusion"].to_list() == both["exclusion_right"].to_list()
    for shown, kept in both.filter("valid").select("value", "stored").rows():
        assert shown == pytest.approx(kept, rel=0.005)


def test_several_files_are_told_apart_and_the_same_file_twice_is_none() -> None:
    table = read("google-1.json", "google-2.json")
    assert table["file"].unique(maintain_order=True).to_list() == ["google-1", "google-2"]


def test_files_of_equal_names_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for name, source in (("old", "google-1.json"), ("new", "google-2.json")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bench.json").write_text((FOLDER / source).read_text())
    table = import_files([tmp_path / "old" / "bench.json", tmp_path / "new" / "bench.json"]).table
    assert table["file"].unique(maintain_order=True).to_list() == ["old/bench.json", "new/bench.json"]


def test_measurements_count_as_replicates_only_when_the_caller_says_so() -> None:
    assert read("google-1.json").filter("valid")["trial_id"].n_unique() == 4
    independent = read("google-1.json", independent=True).filter("valid")
    assert independent["trial_id"].n_unique() == 12
    assert set(independent["measurement"]) == {0}
    assert (
        independent.sort("value")["value"].to_list()
        == read("google-1.json").filter("valid").sort("value")["value"].to_list()
    )


@pytest.mark.parametrize(
    ("commands", "parameters", "expected"),
    [
        (["b1 -t 1", "b1 -t 2"], [{"t": "1"}, {"t": "2"}], ["b1 -t {t}"] * 2),
        (["x 1 1", "x 2 1"], [{"a": "1", "b": "1"}, {"a": "2", "b": "1"}], ["x {a} {b}"] * 2),
        (["fast", "slow"], [{"t": "1"}, {"t": "2"}], ["fast", "slow"]),
        (["named", "named"], [{"t": "1"}, {"t": "2"}], ["named", "named"]),
        (["x 1", "y"], [{"t": "1"}, {}], ["x 1", "y"]),
    ],
)
def test_parameters_are_read_out_of_hyperfines_commands(
    tmp_path: Path, commands: list[str], parameters: list[dict[str, str]], expected: list[str]
) -> None:
    results = [
        {"command": command, "times": [1.0], "parameters": values}
        for command, values in zip(commands, parameters, strict=True)
    ]
    (tmp_path / "h.json").write_text(json.dumps({"results": results}))
    table = import_files([tmp_path / "h.json"]).table
    assert table["benchmark"].to_list() == expected


def test_no_parameter_hides_another_or_a_column_of_the_table(tmp_path: Path) -> None:
    item = {
        "benchmark": "b", "mode": "avgt", "threads": 4,
        "params": {"threads": "2", "value": "x", "a:b": "1", "a_b": "2"},
        "primaryMetric": {"scoreUnit": "s/op", "rawData": [[1.0]]},
    }  # fmt: skip
    (tmp_path / "jmh.json").write_text(json.dumps([item]))
    (tmp_path / "go.txt").write_text("size: big\nBenchmarkA/size=10/order=1-2 5 3 ns/op\n")
    jmh = import_files([tmp_path / "jmh.json"]).table
    assert jmh.select("threads", "factor.value", "a_b", "a_b_", "context.threads").rows() == [
        ("2", "x", "1", "2", "4")
    ]
    go = import_files([tmp_path / "go.txt"]).table
    assert go.select("size", "configuration.size", "factor.order").rows() == [("10", "big", "1")]


def test_a_fitted_complexity_of_google_benchmark_is_no_missing_repetition(tmp_path: Path) -> None:
    document = load("google-1.json")
    fit = {"name": "BM_Sort_BigO", "run_name": "BM_Sort", "run_type": "aggregate", "aggregate_name": "BigO",
           "cpu_coefficient": 3.2, "real_coefficient": 3.3, "big_o": "N", "time_unit": "ns"}  # fmt: skip
    (tmp_path / "fit.json").write_text(json.dumps(document | {"benchmarks": [*document["benchmarks"], fit]}))
    imported = import_files([tmp_path / "fit.json"])
    assert not any("aggregates only" in note for note in imported.files[0].notes)
    assert not imported.table.filter(pl.col("response") == "cpu_coefficient")["valid"].any()
