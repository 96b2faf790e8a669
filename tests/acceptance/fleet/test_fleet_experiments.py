"""From `datamill serve` to a report: a coordinator and two workers on this machine, as a user types it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from acceptance.conftest import Command, assert_refused
from acceptance.fleet.fleets import LocalFleet

from datamill.results.bundles.opening import open_bundle
from datamill.results.judgement.validity import count_trials_once

EXPERIMENT = """
[experiment]
name = "two-loops"
question = "Which loop is faster?"
replicates = 2
seed = 3

[[package]]
name = "a"
path = "a"

[[package]]
name = "b"
path = "b"

[coverage]
machine = "100%"

[fleet]
reboot = "never"
"""
RUN = "#!/bin/sh\necho measuring\nsleep 0.01\n"


@pytest.fixture
def fleet(datamill: Command) -> Iterator[LocalFleet]:
    """A coordinator and two workers."""
    started = LocalFleet(datamill)
    try:
        for name in ("left", "right"):
            started.join(name)
        yield started
    finally:
        started.stop()


@pytest.mark.usefixtures("fleet")
def test_an_experiment_goes_from_a_file_to_a_report(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    make_experiment(text=EXPERIMENT, run=RUN)
    shown = datamill("workers")
    assert "left" in shown.stdout
    assert "right" in shown.stdout

    assert_refused(datamill("submit", "."), "nothing was submitted", "8 trials", "--yes")
    submitted = datamill("submit", ".", "--yes")
    assert submitted.returncode == 0, submitted.stderr
    assert_refused(datamill("submit", ".", "--yes"), "the same experiment", "it is experiment 1", "--again")
    assert "two-loops: 2 workers" in submitted.stdout
    assert "coverage of machine: 2 of 2 (left, right)" in submitted.stdout
    assert "trials: 8 (4 design points x 2 replicates), after 2 debug trials, no reboots" in submitted.stdout
    assert "watch 1" in submitted.stdout

    watched = datamill("watch", "1")
    assert watched.returncode == 0, watched.stdout + watched.stderr
    assert "run | measuring" in watched.stdout
    assert "completed: 8 of 8 trials counted" in watched.stdout

    fetched = datamill("fetch", "1")
    assert fetched.returncode == 0, fetched.stdout + fetched.stderr
    assert "8 of 8 trials counted" in fetched.stdout
    assert "Which loop is faster?" in fetched.stdout

    folder = datamill.folder / "two-loops-1"
    bundle = open_bundle(folder)
    records = bundle.read_records()
    planned = sorted(trial.trial_id for trial in bundle.design.trials)
    assert sorted(count_trials_once(records).counted) == planned
    assert len(records) == 8
    table = pl.read_parquet(bundle.table_file)
    assert table["machine"].unique().sort().to_list() == ["left", "right"]
    # What only the fleet knows of its machines came home with the bundle.
    of_machine = json.loads((folder / "fleet.json").read_text())["workers"][0]["hardware"]
    assert table["context.distribution"].unique().to_list() == [of_machine["distribution"]]
    assert table["context.compiler"].unique().to_list() == [of_machine["compiler"]]
    assert (bundle.report_file).is_file()
    for record in records:
        printed = folder / "artifacts" / f"{record.trial_id}.{record.attempt}" / "run.out"
        assert printed.read_text() == "measuring\n"

    # What works on a bundle of this machine works on one of the fleet.
    assert datamill("report", folder).returncode == 0
    analysed = datamill("analyze", "anova", folder)
    assert analysed.returncode == 0, analysed.stderr
    assert "machine" in analysed.stdout
    assert_refused(
        datamill("analyze", "hardware", folder, "--dimension", "arch"), "all machines have the same arch"
    )
    assert_refused(datamill("run", "--resume", folder), "a fleet runs this experiment", "datamill fetch")
    assert_refused(datamill("fetch", "1"), "exists and is not empty", "--out")

    listed = datamill("trials", "1", "--json", "--state", "counted")
    trials = json.loads(listed.stdout)["trials"]
    assert [trial["purpose"] for trial in trials] == ["design"] * 8
    listed = datamill("trials", "1", "--json", "--state", "done")
    assert [trial["purpose"] for trial in json.loads(listed.stdout)["trials"]] == ["debug"] * 2

    # The packages are there already, and have been timed.
    again = datamill("submit", ".", "--json", "--debug", "never", "--yes", "--again")
    plan = json.loads(again.stdout)["submission"]
    assert (plan["id"], plan["missing_files"], plan["debug_trials"]) == (2, [], 0)
    assert plan["finish_s"] > 0
    assert "cancelled" in datamill("cancel", "2").stdout
    ended = datamill("watch", "2")
    assert ended.returncode == 1
    assert "cancelled" in ended.stdout


def test_whoever_watches_sees_the_coordinator_come_back(
    fleet: LocalFleet, datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    make_experiment(text=EXPERIMENT, run="#!/bin/sh\nsleep 1\n", replicates=2)
    # No trial runs before somebody watches, however long a busy machine takes to start the command.
    for name in ("left", "right"):
        os.killpg(fleet.program(name).pid, signal.SIGSTOP)
    assert datamill("submit", ".", "--debug", "never", "--yes").returncode == 0
    watching = datamill.start("watch", "1")
    assert watching.stdout is not None
    assert any("0 of 8 trials counted" in line for line in watching.stdout)
    for name in ("left", "right"):
        os.killpg(fleet.program(name).pid, signal.SIGCONT)
    # Not by a command: the experiment could be over before that has started.
    fleet.wait("a trial to end", lambda: fleet.ask("/experiments/1")["trials"].get("counted", 0) > 0)
    fleet.serving.send_signal(signal.SIGKILL)
    fleet.serving.wait()
    fleet.serve()
    said, _ = watching.communicate(timeout=400)
    assert watching.returncode == 0, said
    assert "trying again" in said
    assert "The coordinator is back." in said
    assert "completed: 8 of 8 trials counted" in said
    assert datamill("fetch", "1").returncode == 0


def test_a_design_waits_where_a_debug_trial_fails(
    fleet: LocalFleet, datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    make_experiment(text=EXPERIMENT, run="#!/bin/sh\necho it is broken >&2\nexit 3\n")
    assert datamill("submit", ".", "--yes").returncode == 0

    fleet.wait("the experiment to be held", lambda: fleet.ask("/experiments/1")["state"] == "held")
    assert " held " in datamill("watch").stdout
    failed = json.loads(datamill("trials", "1", "--json").stdout)["trials"]
    assert {(trial["state"], trial["outcome"]) for trial in failed if trial["purpose"] == "debug"} == {
        ("done", "failed")
    }
    assert {trial["state"] for trial in failed if trial["purpose"] == "design"} == {"waiting"}
    assert datamill("cancel", "1").returncode == 0
    watched = datamill("watch", "1")
    assert watched.returncode == 1
    assert "it is broken" in watched.stdout
    fetched = datamill("fetch", "1")
    assert fetched.returncode == 2
    assert "No trial of its design has ended" in fetched.stdout
    debug = (datamill.folder / "two-loops-1" / "debug.jsonl").read_text()
    assert "exit_status" in debug


def test_a_machine_that_leaves_in_order_is_away_at_once(fleet: LocalFleet, datamill: Command) -> None:
    def find_state() -> str:
        (state,) = (told["state"] for told in fleet.ask("/workers") if told["name"] == "left")
        return str(state)

    left = fleet.program("left")
    left.send_signal(signal.SIGTERM)
    left.wait(timeout=120)
    fleet.wait("the machine to be away", lambda: find_state() == "away")
    shown = datamill("workers")
    assert any("left" in line and "away" in line for line in shown.stdout.splitlines())
    fleet.start_again("left")
    fleet.wait("the machine to be back", lambda: find_state() == "idle")
