"""What a new user types, in order."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import polars as pl


def test_a_new_experiment_is_checked_run_and_reported(datamill, tmp_path: Path) -> None:
    # What was never made here: not even the scripts of its figures.
    shutil.rmtree(tmp_path / ".cache")
    result = datamill.launch("new", "sorting")
    assert result.returncode == 0, result.stderr
    assert "datamill run sorting" in result.stdout

    result = datamill("check", "sorting")
    assert result.returncode == 0, result.stdout + result.stderr
    for words in ("2 x 2 x 2", "trials           40", "estimated time   unknown", "heap-sort"):
        assert words in result.stdout

    order = datamill("run", "sorting", "--dry-run").stdout.splitlines()
    assert len(order) == 1 + 40
    assert order[0].split("\t") == ["order", "trial", "replicate", "package", "optimization", "aslr"]
    assert not list(tmp_path.glob("sorting-*"))

    # `make check` runs it as it is, with the commands of README: one replicate of five shows the rest.
    file = tmp_path / "sorting" / "experiment.toml"
    text = file.read_text()
    file.write_text(text.replace("replicates = 5\n", "replicates = 1\n"))
    order = datamill("run", "sorting", "--dry-run").stdout.splitlines()
    assert len(order) == 1 + 8

    result = datamill.launch("run", "sorting", "--out", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "sort" in result.stdout
    assert result.stdout.rstrip().endswith("bundle/report.html")
    bundle = tmp_path / "bundle"
    records = [json.loads(line) for line in (bundle / "log.jsonl").read_text().splitlines()]
    assert [record["trial_id"] for record in records] == [line.split("\t")[1] for line in order[1:]]
    for record in records:
        for factor in record["factors"]:
            assert factor["observed"] == factor["asked"], factor
    table = pl.read_parquet(bundle / "table.parquet").filter(pl.col("response") == "rate")
    means = {level: table.filter(pl.col("optimization") == level)["value"].mean() for level in ("-O0", "-O2")}
    assert means["-O2"] > 1.2 * means["-O0"], "the compiler wrapper did not set the optimisation level"

    page = (bundle / "report.html").read_text()
    (bundle / "report.html").unlink()
    result = datamill.launch("report", "bundle")
    assert result.returncode == 0, result.stderr
    assert (bundle / "report.html").read_text() == page

    assert "from earlier trials here" in datamill("check", "sorting").stdout


def test_help_lists_the_verbs_in_the_order_of_use(datamill) -> None:
    text = datamill("--help").stdout
    positions = [text.index(f"\n  {verb} ") for verb in ("new", "check", "run", "report", "analyze")]
    assert positions == sorted(positions)
    assert "defensible answer" in text


def test_a_pilot_tells_how_long_the_experiment_takes(datamill, make_experiment) -> None:
    make_experiment()
    result = datamill("check", "experiment.toml", "--pilot")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("completed, run.sh took") == 2
    assert "a trial, from earlier trials here" in result.stdout


def test_a_package_whose_build_ignores_a_factor_is_reported_as_not_effective(
    datamill, make_experiment
) -> None:
    text = (
        Path(make_experiment(replicates=1))
        .read_text()
        .replace('aslr = ["on", "off"]', 'optimization = ["-O0", "-O2"]')
    )
    make_experiment(text=text, setup="#!/bin/sh\ntrue\n")
    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert "Factor optimization was not effective for package a" in result.stdout


def test_an_archive_is_measured_like_the_folder_that_it_was_made_from(
    datamill, make_experiment, tmp_path: Path
) -> None:
    text = (
        Path(make_experiment(replicates=1)).read_text().replace('path = "a"', 'path = "my packages/a.tar.gz"')
    )
    make_experiment(text=text)
    (tmp_path / "my packages").mkdir()
    with tarfile.open(tmp_path / "my packages" / "a.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "a", arcname=".")
    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr
    table = pl.read_parquet(tmp_path / "bundle" / "table.parquet").filter(pl.col("response") == "rate")
    assert table["package"].unique().sort().to_list() == ["a", "b"]
    assert table["valid"].all()


def test_a_bundle_repeats_its_experiment_from_its_own_packages(
    datamill, make_experiment, tmp_path: Path
) -> None:
    make_experiment(replicates=1)
    assert datamill("run", "experiment.toml", "--out", "first").returncode == 0
    for path in ("a", "b", "experiment.toml"):
        (tmp_path / path).rename(tmp_path / f"{path}.gone")
    result = datamill("run", "first", "--out", "second")
    assert result.returncode == 0, result.stdout + result.stderr
    orders = [
        [json.loads(line)["trial_id"] for line in (tmp_path / name / "log.jsonl").read_text().splitlines()]
        for name in ("first", "second")
    ]
    assert orders[0] == orders[1]


def test_shared_builds_are_made_once_and_said(datamill, make_experiment, tmp_path: Path) -> None:
    text = Path(make_experiment()).read_text()
    text = text.replace("seed = 3", 'seed = 3\nbuild = "shared"')
    make_experiment(text=text, setup="#!/bin/sh\necho built > program\n", run="#!/bin/sh\ncat program\n")
    (tmp_path / "b" / "data").write_text("equal packages would have one build")
    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Builds are shared" in result.stdout
    records = [json.loads(line) for line in (tmp_path / "bundle" / "log.jsonl").read_text().splitlines()]
    assert len({record["build"]["id"] for record in records}) == 2
    assert all(record["build"]["reused"] for record in records)
