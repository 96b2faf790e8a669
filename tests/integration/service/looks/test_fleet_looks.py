"""An experiment with `until` on a fleet: batches on all machines, looks between them, and why it stopped."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from django.db import DatabaseError, transaction
from integration.service.fleets import (
    START_S,
    digest,
    join,
    list_leases,
    make_head,
    make_phase,
    make_record,
    make_user,
    say,
    tell_record,
)

from datamill.design.fleet.fleet_plan import plan_fleet
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.fleet import Lease
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle_files import write_folder
from datamill.results.bundles.decisions import Decision
from datamill.service.answers.looking import decide, look_at, read_looked_at
from datamill.service.bundles.export import prepare_bundle
from datamill.service.coordinator.experiments.due_looks import list_due_looks, read_decisions
from datamill.service.coordinator.experiments.experiments import (
    cancel_experiment,
    enter_decision,
    hold_unlooked,
    release_experiment,
)
from datamill.service.coordinator.experiments.submission import NewExperiment, create_experiment
from datamill.service.coordinator.joining.hardware import describe_candidate
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.files.disk import name_stored_file
from datamill.service.models import Event, FleetExperiment, FleetWorker, Look, Trial
from datamill.verbs.answer import answer

TEXT = """
[experiment]
name = "grows"
seed = 7
isolation = "overlay"

[[package]]
name = "xz"
path = "xz"

[[package]]
name = "bzip2"
path = "bzip2"

[replication]
executions = 4
until = { detect = "10%", grow = "50%" }
max_trials = 96

[coverage]
machine = "100%"

[fleet]
reboot = "never"
debug = "never"
"""
#: Nanoseconds that a trial takes on each machine.
SPEEDS = {"host0": 1_000_000, "host1": 7_000_000}


def submit_growing(machines: int = 2, text: str = TEXT) -> int:
    workers = [join(f"host{number}").worker_id for number in range(machines)]
    asked = parse_experiment(text, name="experiment.toml")
    candidates = [
        replace(describe_candidate(FleetWorker.objects.get(pk=worker), 0.0), offers={}) for worker in workers
    ]
    new = NewExperiment(make_user(), text, asked, make_head(asked), plan_fleet(asked, candidates))
    return create_experiment(new, START_S)


def run_batch(ratio: float, noise: random.Random, now_s: float = START_S) -> Counter[str]:
    """Answer all that is leased until nothing is; return how many trials each machine made."""
    made: Counter[str] = Counter()
    names = dict(FleetWorker.objects.values_list("worker_id", "name"))
    while True:
        step(now_s)
        leases = list_leases(now_s)
        if not leases:
            return made
        for worker_id, lease in leases.items():
            machine = names[worker_id]
            say(worker_id, tell_record(lease, time_trial(lease, SPEEDS[machine], ratio, noise)), now_s)
            made[machine] += 1


def time_trial(lease: Lease, speed_ns: int, ratio: float, noise: random.Random) -> TrialRecord:
    taken = speed_ns * (ratio if lease.spec.package.name == "bzip2" else 1.0)
    wall_ns = int(taken * noise.lognormvariate(0.0, 0.02))
    return make_record(
        lease, run=make_phase(wall_time_ns=wall_ns), started_unix_ns=1, ended_unix_ns=1 + wall_ns
    )


def conduct(ratio: float, experiment: int) -> tuple[list[Counter[str]], tuple[Decision, ...]]:
    noise = random.Random(5)
    batches = []
    while made := run_batch(ratio, noise):
        batches.append(made)
        assert find_violations() == []
        for due in list_due_looks():
            look_at(*due)
        assert find_violations() == []
    return batches, read_decisions(experiment)


@pytest.mark.usefixtures("database")
def test_replicates_grow_on_all_machines_until_the_rule_is_met() -> None:
    experiment = submit_growing()
    assert Trial.objects.count() == 96
    batches, decisions = conduct(1.5, experiment)
    assert [set(made) for made in batches] == [{"host0", "host1"}] * len(batches)
    assert all(made["host0"] == made["host1"] for made in batches)
    assert [decision.decision for decision in decisions] == ["go on"] * (len(decisions) - 1) + ["stop"]
    last = decisions[-1]
    assert last.cause == "changed"
    assert last.intervals[0].rounds == last.trials / 4 >= 15
    # Of the slow machine alone it would be as much: each counts alike, whatever its speed.
    assert last.intervals[0].estimate == pytest.approx(0.5, abs=0.03)
    stored = FleetExperiment.objects.get()
    assert stored.state == "completed"
    assert "wall_time has changed" in stored.state_reason
    states = Counter(Trial.objects.values_list("state", flat=True))
    assert states == {"counted": last.trials, "cancelled": 96 - last.trials}
    assert states["cancelled"] > 0
    looked = Event.objects.filter(kind="experiment looked at").values_list("detail", flat=True)
    assert len(looked) == len(decisions)


@pytest.mark.parametrize(("ratio", "cause"), [(0.8, "supported"), (1.0, "refuted")])
@pytest.mark.usefixtures("memory_database")
def test_replicates_grow_until_a_hypothesis_is_shown_or_refuted(ratio: float, cause: str) -> None:
    text = TEXT.replace("seed = 7", 'seed = 7\nhypothesis = "bzip2 at least 10% lower than xz"')
    experiment = submit_growing(text=text.replace('detect = "10%"', "hypothesis = true"))
    _, decisions = conduct(ratio, experiment)
    assert decisions[-1].cause == cause
    assert "bzip2 at least 10% lower than xz in wall_time" in FleetExperiment.objects.get().state_reason


@pytest.mark.usefixtures("memory_database")
def test_an_experiment_that_never_knows_enough_ends_at_its_bound_and_says_so() -> None:
    experiment = submit_growing(text=TEXT.replace('detect = "10%"', 'detect = "0.1%"'))
    batches, decisions = conduct(1.0, experiment)
    assert sum(sum(made.values()) for made in batches) == 96
    assert decisions[-1].cause == "max_trials"
    assert FleetExperiment.objects.get().state == "completed"


@pytest.mark.usefixtures("memory_database")
def test_the_time_allowed_is_that_of_the_busiest_machine() -> None:
    # Seven milliseconds a trial on the slow machine, 8 of them in the first batch.
    text = TEXT.replace("max_trials = 96", 'max_trials = 96\nmax_time = "100 ms"')
    experiment = submit_growing(text=text)
    _, decisions = conduct(1.0, experiment)
    assert decisions[0].elapsed_s == pytest.approx(0.056, rel=0.05)
    assert decisions[-1].cause in ("max_time", "no difference")
    assert decisions[-1].elapsed_s <= 0.1


@pytest.mark.usefixtures("database")
def test_a_decision_counts_once_and_cannot_be_changed() -> None:
    experiment = submit_growing()
    run_batch(1.5, random.Random(1))
    assert list_due_looks() == [(experiment, 1)]
    decision = decide(read_looked_at(experiment, 1))
    assert enter_decision(experiment, decision, START_S)
    assert not enter_decision(experiment, decision, START_S)
    assert list_due_looks() == []
    changed = msgspec.structs.replace(decision, reason="another")
    with pytest.raises(DatabaseError, match="cannot be changed"), transaction.atomic():
        Look.objects.filter(number=1).update(decision=msgspec.json.encode(changed))


@pytest.mark.usefixtures("memory_database")
def test_a_look_is_not_due_while_its_experiment_is_held_and_comes_when_it_is_released() -> None:
    experiment = submit_growing()
    run_batch(1.5, random.Random(1))
    decision = decide(read_looked_at(experiment, 1))
    hold_unlooked(experiment, 1, "look 1 could not be made: it takes more memory", START_S)
    assert FleetExperiment.objects.get().state == "held"
    assert not enter_decision(experiment, decision, START_S)
    step(START_S)
    assert FleetExperiment.objects.get().state == "held"
    release_experiment(experiment, make_user(), START_S)
    assert list_due_looks() == [(experiment, 1)]
    assert enter_decision(experiment, decision, START_S)


@pytest.mark.usefixtures("memory_database")
def test_an_experiment_that_was_cancelled_is_not_looked_at() -> None:
    experiment = submit_growing()
    run_batch(1.5, random.Random(1))
    cancel_experiment(experiment, make_user(), START_S)
    assert list_due_looks() == []
    assert Counter(Trial.objects.values_list("state", flat=True)) == {"counted": 16, "cancelled": 80}


@pytest.mark.usefixtures("memory_database", "data_folder")
def test_the_answer_says_on_how_many_machines_and_why_it_stopped(tmp_path: Path) -> None:
    experiment = submit_growing()
    _, decisions = conduct(1.5, experiment)
    for package in ("xz", "bzip2"):
        path = name_stored_file(digest(package))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    (tmp_path / "bundle").mkdir()
    prepared = prepare_bundle(FleetExperiment.objects.get(pk=experiment), START_S)
    with prepared.resources:
        write_folder(prepared.first, tmp_path / "bundle")
    said = answer(str(tmp_path / "bundle"))
    headline = said.answer.headline
    assert headline.startswith("On the average of 2 machines, xz is better than bzip2")
    assert "sequential interval" in headline
    told = json.loads(said.json())
    assert [decision["look"] for decision in told["decisions"]] == [item.look for item in decisions]
    assert told["trials"]["not_needed"] == 96 - decisions[-1].trials
