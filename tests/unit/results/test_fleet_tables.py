"""The tidy table of a fleet: machines, their blocks, and reboots as they really were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
from made.synthetic import make_record

from datamill.analysis.model_data.observations import list_tidy_factors
from datamill.design.design import Design
from datamill.design.trials import build_design
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.trial import HostFacts, TrialRecord, WorkerFacts
from datamill.results.judgement.judged_attempts import JudgedAttempt, JudgedAttempts
from datamill.results.judgement.reboots import explain_missing_reboots
from datamill.results.tables.table import build_table
from datamill.results.trials.record_checks import list_set_levels

TEXT = """[experiment]
name = "synthetic"
replicates = 2
{head}
[[package]]
name = "a"
path = "a"
[factors]
reboot = ["none", "before_trial"]
"""
SECOND_NS = 1_000_000_000


def plan(head: str = ""):
    experiment = parse_experiment(TEXT.format(head=head), name="experiment.toml")
    return experiment, build_design(experiment, machines=["one", "two"])


def record_all(design: Design, boots: dict[str, str] | None = None) -> list[TrialRecord]:
    """A record of each trial; `boots` names boots by trial, else each machine has one."""
    records = []
    for number, trial in enumerate(design.trials):
        machine = trial.levels["machine"]
        boot = (boots or {}).get(trial.trial_id, machine)
        records.append(
            make_record(
                trial.trial_id,
                levels=list_set_levels(trial),
                worker=WorkerFacts(machine, "0.1.0"),
                host=HostFacts("x86_64", "6.1", "Xeon", 2, 1 << 34, boot),
                started_unix_ns=number * 1800 * SECOND_NS,
            )
        )
    return records


def test_a_worker_is_not_told_of_machines_and_reboots() -> None:
    _, design = plan()
    assert all(list_set_levels(trial) == {} for trial in design.trials)
    assert {trial.levels["reboot"] for trial in design.trials} == {"none", "before_trial"}
    here = replace(design.trials[0], levels={"reboot": "none"})
    assert list_set_levels(here) == {"reboot": "none"}


def test_a_trial_after_a_reboot_must_be_the_first_of_its_boot() -> None:
    experiment, design = plan()
    planned = {trial.trial_id: trial for trial in design.trials}
    asked = [trial.trial_id for trial in design.trials if trial.levels["reboot"] == "before_trial"]
    rebooted = {trial_id: f"boot of {trial_id}" for trial_id in asked}
    assert explain_missing_reboots(planned, record_all(design, rebooted)) == {}
    forgotten = asked[-1]
    boots = {name: boot for name, boot in rebooted.items() if name != forgotten}
    reasons = explain_missing_reboots(planned, record_all(design, boots))
    assert list(reasons) == [(forgotten, 1)]
    table = build_table(experiment, design, record_all(design, boots))
    excluded = table.filter(~table["valid"] & table["exclusion"].is_not_null())
    assert set(excluded["trial_id"]) == {forgotten}
    assert excluded["exclusion"][0].startswith('reboot was "none", not "before_trial" as planned: trial m')


def test_the_machine_is_a_column_and_its_hours_are_blocks_of_its_own() -> None:
    experiment, design = plan('block = "hour"')
    table = build_table(experiment, design, record_all(design)).unique("trial_id")
    assert table["machine"].to_list() == table["worker"].to_list()
    assert set(table["block"]) == {f"{name}/hour {hour}" for name in ("one", "two") for hour in (1, 2, 3, 4)}


def test_a_trial_that_was_moved_is_in_a_block_of_the_machine_that_made_it() -> None:
    experiment, design = plan('order = "interleaved"')
    moved = design.trials[0]
    levels = {**moved.levels, "machine": "spare"}
    trials = (replace(moved, levels=levels), *design.trials[1:])
    design = replace(design, trials=trials)
    table = build_table(experiment, design, record_all(design)).unique("trial_id", maintain_order=True)
    own = table.filter(table["trial_id"] == moved.trial_id)
    assert own["machine"].to_list() == ["spare"]
    assert own["block"].to_list() == ["spare/1"]
    assert set(table["block"]) == {"spare/1", "one/1", "one/2", "two/1", "two/2"}


def test_a_fleets_table_has_the_hardware_of_the_machine_that_made_each_attempt() -> None:
    experiment, design = plan()
    records = record_all(design)
    judged = JudgedAttempts(
        Path("attempts.jsonl"),
        tuple(JudgedAttempt(r.trial_id, r.attempt, r.worker.id, counts=True) for r in records),
    )
    hardware = {"one": {"compiler": "gcc 12", "clock": "2.0 GHz"}, "two": {"compiler": "clang 15"}}
    table = build_table(experiment, design, records, judged, hardware)
    seen = table.select("machine", "context.compiler", "context.clock", "context.arch").unique().rows()
    assert set(seen) == {("one", "gcc 12", "2.0 GHz", "x86_64"), ("two", "clang 15", None, "x86_64")}
    # Nobody asked for the machine's processor to be a factor.
    assert list_tidy_factors(table.with_columns(pl.col("value").fill_null(1.0))) == ("reboot", "machine")
