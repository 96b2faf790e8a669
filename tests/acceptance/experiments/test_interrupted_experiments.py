"""Whatever interrupts an experiment, nothing measured is lost and nothing is measured twice."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import polars as pl
from running.nightly import choose_count

KILLS = choose_count(10, 20)


def read_log(folder: Path) -> list[dict]:
    log = folder / "log.jsonl"
    # The last line may be on its way to the disk.
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def list_worker_processes(folder: Path) -> list[str]:
    """Return command lines of processes that still work for an experiment below `folder`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if "run-trial" in line and str(folder) in line:
                found.append(line)
    return found


def test_a_killed_experiment_resumes_to_every_planned_trial_exactly_once(
    datamill, make_experiment, tmp_path: Path
) -> None:
    # Half a second of trials for each kill: more than all the time between start and kill together.
    make_experiment(replicates=2 * KILLS, run="#!/bin/sh\nsleep 0.05\n")
    bundle = tmp_path / "bundle"
    generator = random.Random(20130421)
    arguments: list[str | Path] = ["run", "experiment.toml", "--out", bundle]
    kept: list[dict] = []
    kills = 0
    for _ in range(KILLS):
        process = datamill.start(*arguments)
        time.sleep(0.25 + generator.random() * 0.6)
        process.kill()
        said, _ = process.communicate()
        assert process.returncode == -signal.SIGKILL, f"it ended before it was killed: {said}"
        kills += 1
        if (bundle / "bundle.json").exists():
            arguments = ["run", "--resume", bundle]
        now = read_log(bundle)
        assert now[: len(kept)] == kept, "a record that was on disk changed"
        kept = now
    assert kills == KILLS

    result = datamill(*arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    design = json.loads((bundle / "design.json").read_text())
    planned = [trial["trial_id"] for trial in design["trials"]]
    records = read_log(bundle)
    assert records[: len(kept)] == kept
    assert [record["trial_id"] for record in records] == planned
    assert {record["outcome"] for record in records} == {"completed"}
    table = pl.read_parquet(bundle / "table.parquet").filter(pl.col("response") == "rate")
    assert table["trial_id"].to_list() == planned
    assert table["valid"].all()
    assert list_worker_processes(tmp_path) == []


def test_killing_the_command_kills_its_trial(datamill, make_experiment, tmp_path: Path) -> None:
    make_experiment(run="#!/bin/sh\ntouch started\nsleep 60\n")
    process = datamill.start("run", "experiment.toml", "--out", "bundle")
    wait_until(lambda: list_worker_processes(tmp_path) != [])
    process.kill()
    process.communicate()
    wait_until(lambda: list_worker_processes(tmp_path) == [])
    assert process.returncode == -signal.SIGKILL


def test_interrupting_ends_with_130_and_says_how_to_continue(
    datamill, make_experiment, tmp_path: Path
) -> None:
    make_experiment(replicates=20)
    process = datamill.start("run", "experiment.toml", "--out", "bundle")
    wait_until(lambda: len(read_log(tmp_path / "bundle")) >= 3)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert "datamill run --resume bundle" in said
    assert "Traceback" not in said
    # The kernel takes its time to clear away what was killed with the trial.
    wait_until(lambda: list_worker_processes(tmp_path) == [], timeout_s=20)
    before = read_log(tmp_path / "bundle")
    result = datamill("run", "--resume", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr
    after = read_log(tmp_path / "bundle")
    assert after[: len(before)] == before
    assert len({record["trial_id"] for record in after}) == len(after) == 80


def test_two_commands_cannot_run_one_experiment(datamill, make_experiment, tmp_path: Path) -> None:
    make_experiment(replicates=100)
    process = datamill.start("run", "experiment.toml", "--out", "bundle")
    wait_until(lambda: len(read_log(tmp_path / "bundle")) >= 1)
    second = datamill("run", "--resume", "bundle")
    process.kill()
    process.communicate()
    assert second.returncode == 2
    assert "another experiment runs on this host" in second.stderr
    assert f"process {process.pid}" in second.stderr


def wait_until(condition, timeout_s: float = 300) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)
