"""Bundles of the fleet: what `datamill fetch` unpacks is what `datamill run` makes, each trial once."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import polars as pl
import pytest
from integration.service.api_users import TEXT, store
from integration.service.fleets import (
    bring,
    fail_record,
    hello,
    join,
    say,
)
from integration.service.small_fleet import Fleet, read_lines

from datamill.protocol.fleet import ArtifactFile
from datamill.results.trials.log_lines import read_seal
from datamill.service.coordinator.presence.deadlines import expire_leases
from datamill.service.coordinator.presence.members import remove_worker
from datamill.service.files.disk import name_stored_file
from datamill.service.models import Attempt, FleetExperiment, Trial

pytestmark = pytest.mark.usefixtures("data_folder")


@pytest.mark.usefixtures("database")
def test_a_finished_experiment_comes_as_a_bundle_with_each_trial_once(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.finish()
    bundle, records, end = fleet.fetch(tmp_path / "bundle")
    assert end.counted == 8
    planned = {trial.trial_id: trial for trial in bundle.design.trials}
    assert sorted(record.trial_id for record in records) == sorted(planned)
    # Records are those of the workers, to the last digit.
    stored = Attempt.objects.filter(state="counted").values_list("record", flat=True)
    lines = [read_seal(line).record for line in bundle.log_file.read_bytes().splitlines()]
    assert sorted(lines) == sorted(bytes(record or b"") for record in stored)
    assert (bundle.folder / "experiment.toml").read_text() == fleet.body["text"]
    for item in (*bundle.head.packages, *bundle.head.loads):
        assert hashlib.sha256((bundle.folder / item.file).read_bytes()).hexdigest() == item.sha256
    table = bundle.write_table(records)
    assert table.filter("valid")["machine"].unique().sort().to_list() == ["fast", "slow"]
    told = msgspec.json.decode((bundle.folder / "fleet.json").read_bytes())
    assert (told["state"], told["planned"], told["counted"]) == ("completed", 8, 8)
    assert [worker["name"] for worker in told["workers"]] == ["fast", "slow"]
    assert told["workers"][0]["inventory"]["hostname"] == "fast"
    kinds = [event["kind"] for event in read_lines(bundle.folder / "events.jsonl")]
    assert kinds.count("attempt counted") == 8
    assert read_lines(bundle.folder / "late.jsonl") == []


@pytest.mark.usefixtures("database")
def test_an_experiment_that_goes_on_gives_what_there_is(tmp_path: Path) -> None:
    fleet = Fleet()
    _, records, end = fleet.fetch(tmp_path / "before")
    assert (records, end.counted) == ([], 0)
    for worker_id, lease in fleet.lease().items():
        fleet.end(worker_id, lease)
    bundle, records, end = fleet.fetch(tmp_path / "after")
    assert (len(records), end.counted, len(bundle.design.trials)) == (2, 2, 8)
    assert bundle.write_table(records)["trial_id"].n_unique() == 2


@pytest.mark.usefixtures("database")
def test_a_record_that_came_too_late_is_kept_apart_and_never_counts(tmp_path: Path) -> None:
    fleet = Fleet()
    first = fleet.lease()
    fleet.now_s += 10**6
    expire_leases(fleet.now_s)
    # The machines are heard of again, and make second attempts.
    for worker_id in first:
        say(worker_id, hello(), fleet.now_s)
    second = fleet.lease()
    assert [lease.spec.attempt for lease in second.values()] == [2, 2]
    for worker_id, lease in second.items():
        fleet.end(worker_id, lease)
    for worker_id, lease in first.items():
        fleet.end(worker_id, lease)
    fleet.finish()
    bundle, records, end = fleet.fetch(tmp_path / "bundle")
    assert end.counted == 8
    completed = [record.trial_id for record in records if record.outcome == "completed"]
    assert sorted(completed) == sorted(trial.trial_id for trial in bundle.design.trials)
    kept = read_lines(bundle.folder / "late.jsonl")
    assert {item["state"] for item in kept} == {"late"}
    assert {(item["trial_id"], item["attempt"]) for item in kept} == {
        (lease.spec.trial_id, 1) for lease in first.values()
    }
    assert all(item["record"]["outcome"] == "completed" for item in kept)
    assert len(records) == 8


@pytest.mark.usefixtures("database")
def test_a_failed_attempt_before_the_one_that_counts_is_in_the_log(tmp_path: Path) -> None:
    fleet = Fleet()
    for worker_id, lease in fleet.lease().items():
        fleet.end(worker_id, lease, fail_record(lease, "disk_full"))
    fleet.finish()
    bundle, records, end = fleet.fetch(tmp_path / "bundle")
    assert (end.counted, len(records)) == (8, 10)
    table = bundle.write_table(records)
    repeated = [record.trial_id for record in records if record.attempt == 2]
    assert len(repeated) == 2
    for trial in repeated:
        rows = table.filter(trial_id=trial)
        assert rows.filter("valid")["attempt"].unique().to_list() == [2]
        assert "attempt 2 counts" in rows.filter(attempt=1)["exclusion"][0]


@pytest.mark.usefixtures("database")
def test_a_trial_that_was_moved_is_of_the_machine_that_made_it(tmp_path: Path) -> None:
    fleet = Fleet()
    for worker_id, lease in fleet.lease().items():
        fleet.end(worker_id, lease)
    join("spare")
    remove_worker("slow", fleet.ada.user, fleet.now_s)
    fleet.finish()
    bundle, records, end = fleet.fetch(tmp_path / "bundle")
    assert end.counted == 8
    made = {
        attempt.trial.trial_id: attempt.worker.name
        for attempt in Attempt.objects.filter(state="counted").select_related("trial", "worker")
    }
    assert {trial.trial_id: trial.levels["machine"] for trial in bundle.design.trials} == made
    machine = next(factor for factor in bundle.design.factors if factor.name == "machine")
    assert set(machine.levels) == set(made.values())
    assert machine.levels[:2] == ("fast", "slow")
    moved = {trial.trial_id for trial in bundle.design.trials if trial.trial_id.startswith("m2")}
    moved = {trial for trial in moved if made[trial] != "slow"}
    assert moved
    planned = {
        trial.trial_id: msgspec.json.decode(bytes(trial.plan))
        for trial in Trial.objects.filter(purpose="design")
    }
    taken = {plan["point"] for plan in planned.values()}
    for trial in bundle.design.trials:
        if trial.trial_id in moved:
            assert trial.block == made[trial.trial_id]
            assert trial.point not in taken
        else:
            assert trial.point == planned[trial.trial_id]["point"]
    table = bundle.write_table(records)
    assert dict(table.select("trial_id", "machine").unique().iter_rows()) == made
    # What happened is told beside the plan, which stays as it was submitted.
    told = msgspec.json.decode((bundle.folder / "design.json").read_bytes())
    assert {trial["trial_id"]: trial for trial in told["trials"]} == planned
    kept = msgspec.json.decode(bytes(FleetExperiment.objects.get(pk=fleet.number).design))
    assert told["factors"] == kept["factors"]


@pytest.mark.usefixtures("database")
def test_an_attempt_that_failed_elsewhere_is_of_the_machine_that_made_it(tmp_path: Path) -> None:
    fleet = Fleet()
    failed = {}
    for worker_id, lease in fleet.lease().items():
        fleet.end(worker_id, lease, fail_record(lease, "disk_full"))
        failed[lease.spec.trial_id] = fleet.workers[worker_id]
    join("spare")
    remove_worker("slow", fleet.ada.user, fleet.now_s)
    fleet.finish()
    bundle, records, _ = fleet.fetch(tmp_path / "bundle")
    table = bundle.build_table(records)
    first = table.filter(pl.col("attempt") == 1, pl.col("trial_id").is_in(list(failed)))
    assert dict(first.select("trial_id", "machine").unique().iter_rows()) == failed
    moved = next(trial for trial, machine in failed.items() if machine == "slow")
    counted = table.filter(pl.col("trial_id") == moved, pl.col("valid"))
    assert "slow" not in counted["machine"].to_list()
    assert counted.height


@pytest.mark.usefixtures("database")
def test_machines_that_share_what_was_planned_for_one_are_a_factor(tmp_path: Path) -> None:
    text = TEXT.replace('machine = "100%"', "machine = 1")
    assert text != TEXT
    fleet = Fleet(text=text)
    (worker_id, lease), *others = fleet.lease().items()
    assert not others
    fleet.end(worker_id, lease)
    planned, _, _ = fleet.fetch(tmp_path / "planned")
    (machine,) = (factor for factor in planned.design.factors if factor.name == "machine")
    assert (machine.role, len(machine.levels)) == ("nuisance", 1)
    remove_worker(fleet.workers[worker_id], fleet.ada.user, fleet.now_s)
    fleet.finish()
    bundle, _, _ = fleet.fetch(tmp_path / "bundle")
    (machine,) = (factor for factor in bundle.design.factors if factor.name == "machine")
    assert (machine.role, machine.drawn_from) == ("factor", "")
    assert sorted(machine.levels) == ["fast", "slow"]
    assert machine in bundle.design.crossed


@pytest.mark.usefixtures("database")
def test_artifacts_lie_in_the_folder_of_their_attempt(tmp_path: Path) -> None:
    fleet = Fleet()
    (worker_id, lease), *_ = fleet.lease().items()
    kept = store(b"printed", fleet.ada.user, "run.stdout", "artifact")
    gone = store(b"other", fleet.ada.user, "run.stderr", "artifact")
    bring(worker_id, kept, 7)
    bring(worker_id, gone, 5)
    artifacts = (ArtifactFile("run.stdout", kept, 7), ArtifactFile("run.stderr", gone, 5))
    fleet.end(worker_id, lease, artifacts=artifacts)
    name_stored_file(gone).unlink()
    bundle, _, end = fleet.fetch(tmp_path / "bundle")
    folder = bundle.artifacts / f"{lease.spec.trial_id}.1"
    assert (folder / "run.stdout").read_bytes() == b"printed"
    assert end.left_out == (f"artifacts/{lease.spec.trial_id}.1/run.stderr",)
