"""Experiments of three levels: builds by the real compiler, executions of each, measurements in each."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter, defaultdict
from pathlib import Path

import polars as pl

EXPERIMENT = """
[experiment]
name = "nested"
seed = 2006
[replication]
builds = 2
executions = 2
measurements = 3
warmup = 1
randomise_builds = true
[[package]]
name = "kernel"
path = "kernel"
[responses.time_s]
unit = "s"
direction = "lower"
"""
SETUP = """#!/bin/sh
set -eu
for name in one two three four main; do cc -O1 -c $name.c; done
cc -o kernel one.o two.o three.o four.o main.o
"""
#: As a package is meant to: warm-up and measurements, all of them, in order. The number in each is its own.
RUN = """#!/bin/sh
./kernel
n=$((DATAMILL_WARMUP + DATAMILL_MEASUREMENTS))
printf '{"time_s": [' >metrics.json
for i in $(seq $n); do [ $i = 1 ] || printf ', ' >>metrics.json; printf "1.$i" >>metrics.json; done
printf ']}' >>metrics.json
sleep 0.1
"""
COLLECT = """#!/bin/sh
tar czf out.tar.gz metrics.json
echo out.tar.gz
"""


def make_package(folder: Path, **scripts: str) -> None:
    package = folder / "kernel"
    package.mkdir()
    for name, body in ({"setup": SETUP, "run": RUN, "collect": COLLECT} | scripts).items():
        if body:
            (package / f"{name}.sh").write_text(body)
            (package / f"{name}.sh").chmod(0o755)
    for number, name in enumerate(("one", "two", "three", "four")):
        (package / f"{name}.c").write_text(f"int {name}(int x) {{ return x * {number + 3} + {number}; }}\n")
    (package / "main.c").write_text(
        "int one(int), two(int), three(int), four(int);\n"
        "int main(void) { return (one(1) + two(1) + three(1) + four(1)) & 0; }\n"
    )


def read_bundle(folder: Path) -> tuple[list[dict], dict[str, dict], pl.DataFrame]:
    records = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    planned = {
        trial["trial_id"]: trial for trial in json.loads((folder / "design.json").read_text())["trials"]
    }
    return records, planned, pl.read_parquet(folder / "table.parquet")


def check_nesting(folder: Path, builds: int, executions: int) -> None:
    """Check that the table's rows are where the plan puts them and that builds are what they should be."""
    records, planned, table = read_bundle(folder)
    question = table.filter((pl.col("response") == "time_s") & (pl.col("purpose") == "question"))
    places = Counter(
        (row["build"], row["execution"], row["measurement"]) for row in question.iter_rows(named=True)
    )
    assert places == {
        (build, execution, measurement): 1
        for build in range(1, builds + 1)
        for execution in range(1, executions + 1)
        for measurement in range(4)
    }
    first = question.filter(pl.col("measurement") == 0)
    assert not first["valid"].any()
    assert set(first["exclusion"]) == {"warm-up: among the first 1 of its execution"}
    rest = question.filter(pl.col("measurement") > 0)
    assert rest["valid"].all()
    assert rest["value"].to_list() == [float(f"1.{n + 1}") for n in rest["measurement"]]
    by_build = defaultdict(set)
    digests = defaultdict(set)
    for record in records:
        number = planned[record["trial_id"]]["build"]
        by_build[number].add(record["build"]["id"])
        digests[number].add(record["build"]["executables_sha256"])
        assert record["schema"] == 5
    assert all(len(found) == 1 for found in by_build.values()), "executions of a build measure one build"
    assert len(set().union(*by_build.values())) == builds
    assert all(len(found) == 1 and None not in found for found in digests.values())


def test_a_small_experiment_of_three_levels_keeps_its_nesting(datamill, tmp_path: Path) -> None:
    make_package(tmp_path)
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    told = datamill("check", "experiment.toml")
    assert "4 = 2 builds x 2 executions of each" in told.stdout, told.stdout + told.stderr
    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "cannot be used" not in result.stdout
    assert "same executables" not in result.stdout
    check_nesting(tmp_path / "bundle", 2, 2)
    records, planned, table = read_bundle(tmp_path / "bundle")
    assert len(records) == 2 * 2 + 2
    made = [record for record in records if not record["build"]["reused"]]
    assert len(made) == 0, "builds are made before anything is measured"
    calibration = table.filter((pl.col("purpose") == "calibration") & (pl.col("response") == "time_s"))
    assert calibration["measurement"].to_list() == [0, 0]
    assert not calibration["valid"].any()
    for record in records:
        factors = {factor["name"]: factor for factor in record["factors"]}
        assert factors["link_order"]["observed"] == "random"
        assert planned[record["trial_id"]]["build_seed"] is not None
    page = (tmp_path / "bundle" / "report.html").read_text()
    assert "4 measurements to warm up; 2 trials that show what a measurement costs" in page


def test_builds_that_chance_makes_no_different_are_reported(datamill, tmp_path: Path) -> None:
    make_package(tmp_path, run=RUN.replace("sleep 0.1", ""))
    (tmp_path / "experiment.toml").write_text(EXPERIMENT.replace("randomise_builds = true", ""))
    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr
    said = " ".join(result.stdout.split())
    assert "All 2 builds of package kernel gave the same executables" in said, said
    assert "write randomise_builds = true" in said
    shutil.copytree(tmp_path / "bundle", tmp_path / "again")
    compared = datamill("compare", "bundle", "again")
    assert "all 2 builds of package kernel gave the same executables" in " ".join(compared.stdout.split())


def test_resuming_after_a_kill_keeps_the_nesting(datamill, tmp_path: Path) -> None:
    make_package(tmp_path)
    text = EXPERIMENT.replace("builds = 2", "builds = 4").replace("executions = 2", "executions = 4")
    (tmp_path / "experiment.toml").write_text(text)
    process = datamill.start("run", "experiment.toml", "--out", "bundle")
    log = tmp_path / "bundle" / "log.jsonl"
    give_up_s = time.monotonic() + 300
    while time.monotonic() < give_up_s and not (log.exists() and log.read_bytes().count(b"\n") >= 3):
        time.sleep(0.02)
    process.kill()
    process.communicate()
    before = log.read_bytes()
    assert 3 <= before.count(b"\n") < 18
    result = datamill("run", "--resume", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr
    assert log.read_bytes().startswith(before)
    check_nesting(tmp_path / "bundle", 4, 4)
