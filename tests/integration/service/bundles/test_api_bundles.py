"""Bundles of the fleet: what `datamill fetch` unpacks is what `datamill run` makes, each trial once."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import polars as pl
import pytest
from click.testing import CliRunner
from django.db import IntegrityError, transaction
from integration.service.api_users import TEXT, ApiUser, make_submission, store
from integration.service.fleets import (
    START_S,
    bring,
    fail_record,
    hello,
    join,
    list_leases,
    say,
    tell_record,
)

from datamill.cli.fleet.fetch import fetch
from datamill.conduct.fleet.take_home import check_bundle, unpack_bundle
from datamill.experiment.errors import InputError
from datamill.protocol.fleet import ArtifactFile, Lease
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.opening import open_bundle
from datamill.results.trials.log_lines import read_seal
from datamill.service.coordinator.presence.deadlines import expire_leases
from datamill.service.coordinator.presence.members import remove_worker
from datamill.service.coordinator.step import step
from datamill.service.files.store import name_stored_file
from datamill.service.models import Attempt, FleetExperiment, Trial

pytestmark = pytest.mark.usefixtures("data_folder")


class Fleet:
    """An experiment of two packages on two machines, whose trials end one by one."""

    def __init__(self, **options: Any) -> None:
        self.ada = ApiUser("ada")
        self.workers = {join(name).worker_id: name for name in ("fast", "slow")}
        self.body = make_submission(self.ada.user, **options)
        self.number: int = self.ada.post("/experiments", self.body)[1]["id"]
        self.now_s = START_S

    def lease(self) -> dict[str, Lease]:
        self.now_s += 1.0
        step(self.now_s)
        return list_leases(self.now_s)

    def end(self, worker_id: str, lease: Lease, record: TrialRecord | None = None, **told: Any) -> None:
        self.now_s += 1.0
        say(worker_id, tell_record(lease, record, **told), self.now_s)

    def finish(self) -> None:
        while leases := self.lease():
            for worker_id, lease in leases.items():
                self.end(worker_id, lease)

    def read(self) -> bytes:
        return self.ada.read(f"/experiments/{self.number}/bundle")

    def fetch(self, folder: Path) -> tuple[Bundle, list[TrialRecord], dict[str, Any]]:
        folder.mkdir()
        end = unpack_bundle(io.BytesIO(self.read()), folder)
        records = check_bundle(folder, end)
        return open_bundle(folder), records, end


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in file.read_bytes().splitlines()]


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
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: lines[1:], "only in log.jsonl"),
        (lambda lines: [*lines, lines[0].replace(b'"attempt":1', b'"attempt":9')], "not in log.jsonl"),
        (lambda lines: [lines[0].replace(b"true", b"false"), *lines[1:]], "not every trial counts once"),
        (lambda lines: [b"{}", *lines[1:]], "not an attempt"),
    ],
)
def test_a_judgement_that_does_not_fit_the_log_is_refused(tmp_path: Path, change: Any, words: str) -> None:
    fleet = Fleet()
    fleet.finish()
    bundle, _, _ = fleet.fetch(tmp_path / "bundle")
    file = bundle.folder / "attempts.jsonl"
    file.write_bytes(b"\n".join(change(file.read_bytes().splitlines())) + b"\n")
    with pytest.raises(InputError, match=words) as caught:
        open_bundle(bundle.folder).read_records()
    assert str(file) in caught.value.where


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


@pytest.mark.usefixtures("database")
def test_debug_trials_are_beside_the_log_and_not_in_it(tmp_path: Path) -> None:
    fleet = Fleet(debug="first")
    fleet.finish()
    bundle, records, end = fleet.fetch(tmp_path / "bundle")
    assert end.counted == len(records) == 8
    assert {item["purpose"] for item in read_lines(bundle.folder / "debug.jsonl")} == {"debug"}
    assert len(read_lines(bundle.folder / "debug.jsonl")) == 2


class FetchedOver:
    """The coordinator as `datamill fetch` asks it, without a network."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    def __enter__(self) -> FetchedOver:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get(self, path: str, kind: type) -> Any:
        return msgspec.json.decode(self.fleet.ada.read(path), type=kind)

    @contextmanager
    def stream(self, path: str) -> Iterator[Any]:
        yield SimpleNamespace(iter_bytes=lambda: iter([self.fleet.ada.read(path)]))


def type_fetch(fleet: Fleet, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Type `datamill fetch`; return its status and what it printed, as one line."""
    monkeypatch.setattr("datamill.cli.fleet.fetch.connect", lambda *_: FetchedOver(fleet))
    monkeypatch.setenv("COLUMNS", "300")
    result = CliRunner().invoke(fetch, [str(fleet.number), "--out", str(folder)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.usefixtures("memory_database")
def test_fetching_debug_trials_that_all_completed_is_a_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(debug="only")
    status, said = type_fetch(fleet, tmp_path / "early", monkeypatch)
    assert (status, "still debugging" in said) == (2, True)
    assert "0 of 2 debug trials completed" in said
    fleet.finish()
    status, said = type_fetch(fleet, tmp_path / "bundle", monkeypatch)
    assert status == 0, said
    assert "2 of 2 debug trials completed" in said
    assert "no design, so there is no answer" in said
    assert "debug.jsonl" in said
    assert "0 of 0" not in said


@pytest.mark.usefixtures("memory_database")
def test_fetching_a_debug_trial_that_failed_needs_attention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(debug="only")
    failed = False
    while leases := fleet.lease():
        for worker_id, lease in leases.items():
            fleet.end(worker_id, lease, None if failed else fail_record(lease))
            failed = True
    status, said = type_fetch(fleet, tmp_path / "bundle", monkeypatch)
    assert (status, "1 of 2 debug trials completed" in said) == (2, True), said


@pytest.mark.usefixtures("memory_database")
def test_fetching_a_design_of_which_nothing_ended_needs_attention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(debug="first", hold=True)
    fleet.finish()
    status, said = type_fetch(fleet, tmp_path / "bundle", monkeypatch)
    assert (status, "0 of 8 trials counted" in said) == (2, True), said
    assert "No trial of its design has ended" in said


@pytest.mark.usefixtures("database")
def test_a_bundle_that_would_be_wrong_is_not_sent() -> None:
    fleet = Fleet()
    fleet.finish()
    name_stored_file(fleet.body["packages"][0]["sha256"]).unlink()
    status, refused = fleet.ada.get(f"/experiments/{fleet.number}/bundle")
    assert status == 500
    assert "cannot vouch for this bundle" in refused["message"]
    assert "packages/p1.tar.gz is no longer in the store" in refused["message"]


@pytest.mark.usefixtures("database")
def test_a_plan_that_is_no_longer_the_one_submitted_is_not_sent() -> None:
    fleet = Fleet()
    sealed = FleetExperiment.objects.get(pk=fleet.number)
    with tarfile.open(fileobj=io.BytesIO(fleet.read())) as archive:
        design = archive.extractfile("design.json")
        assert design is not None
        content = design.read()
    assert hashlib.sha256(content).hexdigest() == sealed.design_sha256
    trial = Trial.objects.filter(experiment=sealed, purpose="design").earliest("position")
    Trial.objects.filter(pk=trial.pk).update(plan=bytes(trial.plan).replace(b'"seed":', b'"seed":1'))
    status, refused = fleet.ada.get(f"/experiments/{fleet.number}/bundle")
    assert status == 500
    assert "the plan is not the one that was submitted" in refused["message"]


@pytest.mark.usefixtures("database")
def test_the_seal_of_a_plan_cannot_be_changed() -> None:
    fleet = Fleet()
    for seal in ("0" * 64, None):
        with pytest.raises(IntegrityError), transaction.atomic():
            FleetExperiment.objects.filter(pk=fleet.number).update(design_sha256=seal)


@pytest.mark.usefixtures("memory_database")
def test_a_bundle_that_was_cut_off_is_not_taken_for_whole(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.finish()
    whole = fleet.read()
    cuts = [0, 100, 512, 5000, len(whole) // 2, len(whole) - 2048]
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
        # Between two files, where a tar archive looks as if it had ended.
        cuts += [member.offset for member in tar]
    for number, cut in enumerate(cuts):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(InputError, match="cut off"):
            unpack_bundle(io.BytesIO(whole[:cut]), folder)


@pytest.mark.parametrize("name", ["../outside", "/outside", "a/../../outside"])
def test_files_outside_the_bundle_are_not_written(tmp_path: Path, name: str) -> None:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    (tmp_path / "bundle").mkdir()
    with pytest.raises(InputError, match="not a plain file below the bundle"):
        unpack_bundle(io.BytesIO(plain.getvalue()), tmp_path / "bundle")
    assert list(tmp_path.iterdir()) == [tmp_path / "bundle"]


def test_links_in_a_bundle_are_refused(tmp_path: Path) -> None:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        link = tarfile.TarInfo("log.jsonl")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(InputError, match="not a plain file below the bundle"):
        unpack_bundle(io.BytesIO(plain.getvalue()), tmp_path)


@pytest.mark.usefixtures("memory_database")
def test_a_log_that_counts_other_attempts_is_refused(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.finish()
    folder = tmp_path / "bundle"
    folder.mkdir()
    end = unpack_bundle(io.BytesIO(fleet.read()), folder)
    log = folder / "log.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 1])
    with pytest.raises(InputError, match=r"is not in log\.jsonl"):
        check_bundle(folder, end)
    log.write_bytes(whole)
    attempts = folder / "attempts.jsonl"
    attempts.write_bytes(attempts.read_bytes().replace(b"slow", b"fast"))
    with pytest.raises(InputError, match="not those that count for the coordinator"):
        check_bundle(folder, end)
