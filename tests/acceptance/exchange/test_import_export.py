"""`datamill import` and `datamill export`, as a user types them."""

from __future__ import annotations

import csv
import json
import os
import pty
import shlex
import shutil
import statistics
import subprocess
from pathlib import Path

import polars as pl
import pytest
from acceptance.conftest import BIN, Command, assert_refused

FOREIGN = Path(__file__).parents[2] / "foreign"

#: What a user would ask of each file, with as little typing as possible.
QUESTIONS = {
    "hyperfine.json": ["--factors", "n,how"],
    "pyperf.json": [],
    "jmh.json": ["--response", "throughput", "--factors", "size,factor.order"],
    "go.txt": ["--factors", "alg,size"],
    "rebench.data": [],
}


@pytest.mark.parametrize(("name", "asked"), QUESTIONS.items())
def test_an_imported_table_can_be_analysed_at_once(datamill, name: str, asked: list[str]) -> None:
    chosen = ["--benchmark", "Sort"] if name == "go.txt" else []
    imported = datamill("import", FOREIGN / name, "--out", "table.csv", *chosen)
    assert imported.returncode == 0, imported.stderr
    result = datamill("analyze", "anova", "table.csv", *asked, "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    table = pl.read_csv(datamill.folder / "table.csv", infer_schema_length=None)
    used = table.filter(pl.col("valid") & (pl.col("response") == answer["response"]))
    # One value a process: several measurements inside one are no replicates.
    assert answer["n"] == used["trial_id"].n_unique()


def test_two_files_are_compared_by_the_factor_file(datamill) -> None:
    copies = []
    for name, source in (("before.json", "google-1.json"), ("after.json", "google-2.json")):
        copies.append(datamill.folder / name)
        shutil.copy(FOREIGN / source, copies[-1])
    result = datamill("import", *copies, "--benchmark", "BM_Sort", "--out", "both.parquet", "--independent")
    assert "factor file: before, after" in result.stdout
    asked = ["--response", "real_time", "--factors", "file,n"]
    answer = json.loads(datamill("analyze", "anova", "both.parquet", *asked, "--json").stdout)
    assert answer["n"] == 12
    assert {term["term"] for term in answer["terms"]} == {"file", "n", "file:n"}


def test_standard_output_gets_csv_where_it_is_asked_for_and_the_summary_stands_beside_it(datamill) -> None:
    result = datamill("import", FOREIGN / "hyperfine.json", "--out", "-")
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert len(rows) == 20
    assert float(rows[0]["value"]) == 0.011669519000000001
    assert "response wall_time in s: 20 values of 20 executions" in result.stderr
    assert list(datamill.folder.glob("*.csv")) == []


@pytest.mark.parametrize("terminal", [True, False])
def test_a_file_is_written_and_what_to_type_next_is_said(datamill, terminal: bool) -> None:
    reader, writer = pty.openpty() if terminal else os.pipe()
    process = subprocess.Popen(
        [BIN / "datamill", "import", FOREIGN / "hyperfine.json"],
        cwd=datamill.folder,
        stdout=writer,
        stderr=writer,
    )
    assert process.wait(60) == 0
    os.close(writer)
    said = os.read(reader, 65536).decode()
    os.close(reader)
    assert "Table: hyperfine.csv" in said
    assert "analyze anova hyperfine.csv --response wall_time --factors how,n" in said
    assert pl.read_csv(datamill.folder / "hyperfine.csv").height == 20


def test_the_summary_as_json(datamill) -> None:
    said = datamill("import", FOREIGN / "pyperf.json", "--out", "t.parquet", "--json").stdout
    told = json.loads(said)
    assert told["answer"] == ["97 rows came from 1 file."]
    summary = told["imported"]
    assert summary["files"][0]["format"] == "pyperf JSON"
    assert summary["rows"] == 97
    assert {reason.partition(":")[0]: count for reason, count in summary["left_out"].items()} == {
        "calibration": 37,
        "warm-up": 20,
    }
    assert summary["table"] == "t.parquet"


def test_nothing_is_overwritten_unasked(datamill) -> None:
    (datamill.folder / "table.csv").write_text("precious")
    asked = ("import", FOREIGN / "go.txt", "--out", "table.csv")
    assert_refused(datamill(*asked), "table.csv: the file exists already", "--force")
    assert (datamill.folder / "table.csv").read_text() == "precious"
    assert datamill(*asked, "--force").returncode == 0
    export = ("export", "table.csv", "--to", "markdown", "--out", "table.csv", "--force")
    assert_refused(datamill(*export), "itself to be exported")


def test_bad_input_ends_with_status_2(datamill) -> None:
    (datamill.folder / "cut.json").write_text((FOREIGN / "jmh.json").read_text()[:900])
    (datamill.folder / "empty.json").touch()
    (datamill.folder / "plain.csv").write_text("a,b\n1,x\n")
    assert_refused(datamill("import", "cut.json"), "cut.json:", "ends before it is complete")
    assert_refused(datamill("import", "empty.json"), "empty.json: the file is empty")
    assert_refused(datamill("import", "nowhere.json"), "nowhere.json: there is no such file")
    assert_refused(datamill("import", "."), "this is a folder")
    assert_refused(datamill("import", "plain.csv"), "not recognised", "--format", "datamill analyze")
    assert_refused(datamill("import", FOREIGN / "go.txt", "--out", "x.txt"), "neither .csv nor .parquet")
    assert_refused(datamill("import", FOREIGN / "go.txt", "--out", "no/x.csv"), "there is no such folder")
    assert_refused(datamill("import", FOREIGN / "go.txt", "--benchmark", "sort*"), "Sort, Clone")
    assert_refused(datamill("export", "plain.csv", "--to", "benchfmt"), "not a tidy table")
    assert_refused(datamill("export", "plain.csv", "--to", "parquet"), "--out")
    assert_refused(datamill("export", ".", "--to", "csv"), "not a bundle")


def test_mixed_units_of_one_response_are_told_and_not_analysed(datamill) -> None:
    asv = FOREIGN / "asv" / "host" / "6737e387-existing.json"
    result = datamill("import", asv, "--out", "t.csv")
    assert "track is in several units: points, none" in result.stdout
    analysed = datamill("analyze", "anova", "t.csv", "--response", "track", "--factors", "benchmark")
    assert_refused(analysed, "in several units")


def test_a_table_survives_all_formats_that_keep_it(datamill) -> None:
    datamill("import", FOREIGN / "google-1.json", "--out", "a.parquet")
    datamill("export", "a.parquet", "--to", "csv", "--out", "b.csv")
    datamill("export", "b.csv", "--to", "parquet", "--out", "c.parquet")
    first, last = (pl.read_parquet(datamill.folder / name) for name in ("a.parquet", "c.parquet"))
    assert first.equals(last)


def test_a_bundle_is_exported(datamill, make_experiment) -> None:
    make_experiment()
    assert datamill("run", "experiment.toml", "--out", "bundle").returncode == 0
    text = datamill("export", "bundle", "--to", "benchfmt", "--response", "rate")
    lines = text.stdout.splitlines()
    table = pl.read_parquet(datamill.folder / "bundle" / "table.parquet")
    values = table.filter((pl.col("response") == "rate") & pl.col("valid"))["value"].to_list()
    results = [line for line in lines if line.startswith("Benchmark")]
    assert sorted(float(line.split()[2]) for line in results) == sorted(values)
    assert len(results) == 8
    assert all("/package=" in line and "/aslr=" in line and line.endswith("rate-op/s") for line in results)
    printed = datamill("export", "bundle", "--to", "markdown", "--response", "rate").stdout
    assert printed.startswith("| package | aslr | trials | rate")
    assert datamill("export", "bundle", "--to", "csv").stdout.count("\n") == table.height + 1


def test_benchstat_reads_what_we_export_and_finds_our_medians(datamill) -> None:
    benchstat = shutil.which("benchstat")
    if benchstat is None:
        pytest.skip("benchstat is not installed (go install golang.org/x/perf/cmd/benchstat@latest)")
    datamill("import", FOREIGN / "go.txt", "--benchmark", "Sort", "--out", "go.parquet")
    datamill("export", "go.parquet", "--to", "benchfmt", "--out", "again.txt")
    said = subprocess.run(
        [benchstat, "-format", "csv", "again.txt"],
        cwd=datamill.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "again.txt:" not in said.stderr
    rows = [row for row in csv.reader(said.stdout.splitlines()) if row and row[0].startswith("Sort/")]
    table = pl.read_parquet(datamill.folder / "go.parquet").filter(pl.col("response") == "sec/op")
    seen = 0
    for name, median in ((row[0], float(row[1])) for row in rows[:4]):
        levels = dict(part.split("=") for part in name.rpartition("-")[0].split("/")[1:])
        ours = table.filter((pl.col("alg") == levels["alg"]) & (pl.col("size") == levels["size"]))["value"]
        assert median == pytest.approx(statistics.median(ours), rel=1e-12)
        seen += 1
    assert seen == 4


def test_standard_input_is_imported(datamill) -> None:
    result = subprocess.run(
        [BIN / "datamill", "import", "-", "--out", "-"],
        input=(FOREIGN / "go.txt").read_bytes(),
        capture_output=True,
        check=True,
        cwd=datamill.folder,
    )
    assert result.stdout.startswith(b"file,trial_id")
    assert b"standard input: Go benchmark text" in result.stderr


def _write_hyperfine(file: Path, times_of: dict[str, list[float]]) -> None:
    results = [
        {"command": name, "times": times, "exit_codes": [0] * len(times)} for name, times in times_of.items()
    ]
    file.write_text(json.dumps({"results": results}))


def _follow_next(datamill: Command, said: str) -> subprocess.CompletedProcess[str]:
    """Type what the summary suggests."""
    line = next(line for line in said.splitlines() if line.startswith("Next: "))
    return datamill(*shlex.split(line.removeprefix("Next: "))[1:])


def test_the_suggestion_leaves_out_factors_that_change_together(datamill) -> None:
    _write_hyperfine(datamill.folder / "before.json", {"./old": [1.0, 1.1, 1.05, 1.2]})
    _write_hyperfine(datamill.folder / "after.json", {"./new": [2.0, 2.1, 2.05, 2.2]})
    said = datamill("import", "before.json", "after.json", "--out", "both.csv").stdout
    assert "analyze anova both.csv --response wall_time --factors file\n" in said
    assert _follow_next(datamill, said).returncode == 0


def test_combinations_that_were_not_measured_are_told_before_an_analysis_fails(datamill) -> None:
    _write_hyperfine(datamill.folder / "before.json", {"a": [1.0, 1.1], "b": [1.3, 1.2]})
    _write_hyperfine(datamill.folder / "after.json", {"b": [2.0, 2.1], "c": [2.05, 2.2]})
    said = datamill("import", "before.json", "after.json", "--out", "both.csv").stdout
    assert "only 4 of the 6 combinations of file, benchmark were measured" in said
    assert _follow_next(datamill, said).returncode == 0


def test_counts_inside_one_process_suggest_no_analysis_that_must_fail(datamill) -> None:
    names = [f"BenchmarkSort/alg={alg}/n={n}" for alg in ("quick", "merge") for n in (10, 20)]
    once = "".join(f"{name} 100 {at + 10 * how} ns/op\n" for how, name in enumerate(names) for at in range(3))
    (datamill.folder / "count.txt").write_text(once + "PASS\n")
    said = datamill("import", "count.txt", "--out", "count.csv").stdout
    assert "go test several times" in said
    assert "--independent" in said
    assert "analyze summary count.csv" in said
    assert _follow_next(datamill, said).returncode == 0
    (datamill.folder / "loop.txt").write_text(
        "".join(
            "".join(f"{name} 100 {at + 10 * how} ns/op\n" for how, name in enumerate(names)) + "PASS\n"
            for at in range(3)
        )
    )
    said = datamill("import", "loop.txt", "--out", "loop.csv").stdout
    assert "analyze anova loop.csv --response sec/op --factors alg,n" in said
    assert _follow_next(datamill, said).returncode == 0


@pytest.mark.parametrize("verb", ["summary", "variability"])
def test_one_command_alone_can_be_described(datamill, verb: str) -> None:
    _write_hyperfine(datamill.folder / "one.json", {"sleep 1": [1.0, 1.1, 1.05, 1.2]})
    said = datamill("import", "one.json", "--out", "one.csv").stdout
    assert "analyze summary one.csv --response wall_time" in said
    result = datamill("analyze", verb, "one.csv", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["n"] == 4


def test_a_full_disk_under_an_analysis_does_not_speak_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("g,y\na,1\na,2\nb,3\nb,4\n")
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [BIN / "datamill", "analyze", "summary", "t.csv", "--response", "y", "--factors", "g"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 2
    assert "No space left" in result.stderr
    assert "--resume" not in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("hyperfine.json", ["n=0.01", "how=a"]),
        ("pyperf.json", ["benchmark=sort"]),
        ("pytest-benchmark.json", ["benchmark=test_b.py::test_sort", "kind=list", "size=1000"]),
        ("go-events.jsonl", []),
        ("rebench.data", ["benchmark=Sort", "inputSize=10"]),
        ("criterion", ["benchmark=sorting/stable", "parameter=1000", "baseline=new"]),
    ],
)
def test_results_of_other_tools_are_compared_as_they_are(datamill, name: str, chosen: list[str]) -> None:
    """`compare` imports them by itself, and says what it says of the tables that `import` makes."""
    own = datamill.folder
    where = [part for level in chosen for part in ("--where", level)]
    suffix = Path(name).suffix
    for version in ("before", "after"):
        (shutil.copytree if (FOREIGN / name).is_dir() else shutil.copy)(
            FOREIGN / name, own / f"{version}{suffix}"
        )
        made = datamill("import", f"{version}{suffix}", "--out", f"{version}.csv")
        assert made.returncode == 0, made.stderr
    at_once = datamill("compare", f"before{suffix}", f"after{suffix}", *where, "--json")
    by_hand = datamill("compare", "before.csv", "after.csv", *where, "--json")
    assert (at_once.returncode, by_hand.returncode) == (0, 0), at_once.stderr
    found, expected = json.loads(at_once.stdout), json.loads(by_hand.stdout)
    assert [item["version"] for item in found["versions"]] == ["before", "after"]
    assert (found["versions"], found["changes"]) == (expected["versions"], expected["changes"])
