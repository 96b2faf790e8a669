"""Experiments that stop when they know enough, or at their bound, and say why."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path

from acceptance.conftest import assert_refused

TEXT = """
[experiment]
name = "small"
question = "Has it changed?"
seed = 3
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
[replication]
executions = 3
until = {until}
{bound}
"""
#: Sleeps twice as long in package b: far more than what a busy machine adds.
RUN = "#!/bin/sh\nsleep {}\n"


def write_experiment(make_experiment, until: str, bound: str, a: str = "0.05", b: str = "0.1") -> Path:
    text = TEXT.replace("{until}", until).replace("{bound}", bound)
    file = make_experiment(text=text, run=RUN.format(a))
    (file.parent / "b" / "run.sh").write_text(RUN.format(b))
    return file


def read_lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_planted_change_is_found_and_ends_the_experiment_early(
    datamill, make_experiment, tmp_path: Path
) -> None:
    write_experiment(make_experiment, '{ detect = "10%" }', "max_trials = 200")
    checked = datamill("check", "experiment.toml")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "at most 200" in checked.stdout
    assert "3 executions in the first batch, then 1 execution more in each" in checked.stdout

    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr
    decisions = read_lines(tmp_path / "bundle" / "decisions.jsonl")
    assert decisions[-1]["cause"] == "changed"
    assert 30 <= decisions[-1]["trials"] < 200
    assert len(read_lines(tmp_path / "bundle" / "log.jsonl")) == decisions[-1]["trials"]
    # A line for each look, and the verdict of the rule as the answer.
    assert len(re.findall(r"^look \d+, \d+ trials: ", result.stdout, re.M)) == len(decisions)
    assert "a is better than b: the wall_time of b differs from a's by +" in result.stdout
    assert "sequential interval" in result.stdout
    said = " ".join(result.stdout.split())
    # A busy machine may take sixty trials, of both packages, and more: then enough rounds are there.
    early = decisions[-1]["trials"] < 60
    assert bool(re.search(r"Warning: It stopped after \d+ rounds: if runs are slow only", said)) == early
    assert "have not run" not in result.stdout
    page = (tmp_path / "bundle" / "report.html").read_text()
    assert "Why it stopped" in page
    assert "further trials had been planned and were not needed" in page

    again = datamill("run", "--resume", "bundle")
    assert again.returncode == 0, again.stdout + again.stderr
    assert f"0 of {decisions[-1]['trials']} trials to run" in again.stdout
    assert read_lines(tmp_path / "bundle" / "decisions.jsonl") == decisions


def test_a_stable_program_is_measured_until_its_mean_is_known_well_enough(
    datamill, make_experiment, tmp_path: Path
) -> None:
    write_experiment(make_experiment, '{ half_width = "30%" }', "max_trials = 200", b="0.05")
    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr
    decisions = read_lines(tmp_path / "bundle" / "decisions.jsonl")
    assert decisions[-1]["cause"] == "precise"
    for interval in decisions[-1]["intervals"]:
        assert interval["high"] - interval["low"] <= 2 * 0.3 * interval["estimate"]
    assert re.search(r"Mean wall_time of a: .*95% sequential interval", result.stdout)


def test_an_experiment_that_cannot_tell_ends_at_its_bound_and_says_so(
    datamill, make_experiment, tmp_path: Path
) -> None:
    write_experiment(make_experiment, '{ detect = "0.001%" }', "max_trials = 30", a="0.01", b="0.01")
    result = datamill("run", "experiment.toml", "--out", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr
    decisions = read_lines(tmp_path / "bundle" / "decisions.jsonl")
    assert [decision["trials"] for decision in decisions] == list(range(6, 32, 2))
    assert decisions[-1]["cause"] == "max_trials"
    assert "The data cannot tell yet whether b and a differ in wall_time by 0.001%" in result.stdout


def test_killed_at_any_time_it_resumes_and_stops_as_it_would_have(
    datamill, make_experiment, tmp_path: Path
) -> None:
    write_experiment(make_experiment, '{ half_width = "0.001%" }', "max_trials = 30")
    bundle = tmp_path / "bundle"
    arguments: list[str | Path] = ["run", "experiment.toml", "--out", bundle]
    kept: list[dict] = []
    for pause_s in (2.0, 2.4):
        process = datamill.start(*arguments)
        time.sleep(pause_s)
        process.kill()
        process.communicate()
        assert process.returncode in (-signal.SIGKILL, 0)
        if (bundle / "bundle.json").exists():
            arguments = ["run", "--resume", bundle]
        if (bundle / "decisions.jsonl").exists():
            now = read_lines(bundle / "decisions.jsonl")
            assert now[: len(kept)] == kept
            kept = now
    result = datamill(*arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    decisions = read_lines(bundle / "decisions.jsonl")
    assert (decisions[-1]["cause"], decisions[-1]["trials"]) == ("max_trials", 30)
    assert [decision["look"] for decision in decisions] == list(range(1, len(decisions) + 1))
    trials = [record["trial_id"] for record in read_lines(bundle / "log.jsonl")]
    planned = [trial["trial_id"] for trial in json.loads((bundle / "design.json").read_text())["trials"]]
    assert trials == planned

    # What a kill between a batch and its decision leaves: the decision is made again, the same.
    lines = (bundle / "decisions.jsonl").read_bytes()
    (bundle / "decisions.jsonl").write_bytes(lines[: lines.rstrip().rfind(b"\n") + 30])
    assert datamill("run", "--resume", bundle).returncode == 0
    assert (bundle / "decisions.jsonl").read_bytes() == lines


def test_a_bound_without_room_for_the_rule_is_refused(datamill, make_experiment) -> None:
    write_experiment(make_experiment, '{ detect = "10%" }', "max_trials = 29")
    for verb in ("check", "run"):
        assert_refused(
            datamill(verb, "experiment.toml"),
            "max_trials = 29 leaves no room for the rule: it needs 30 trials at least",
            "Allow 30 trials or more",
        )
