"""Reports that cannot be believed: faulty, forged, unreadable, or with other files than they name."""

from __future__ import annotations

import msgspec
import pytest
from integration.service.fleets import (
    START_S,
    bring,
    digest,
    find_attempt,
    join,
    lease_one,
    list_leases,
    make_record,
    report,
    say,
    send_orders,
    submit,
    tell_record,
)

from datamill.protocol.fleet import (
    ArtifactFile,
    GaveUp,
    Taken,
)
from datamill.results.bundles.bundle_head import BundleHead
from datamill.service.coordinator.experiments.dispatch import lease_trials
from datamill.service.coordinator.messages.ingest import ReceivedReport, ingest_reports
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.models import Artifact, Attempt, Event, FleetExperiment, FleetWorker


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seed": 1}, "seed"),
        ({"levels": {"aslr": "off"}}, "other levels than planned: aslr"),
        ({"levels": {}}, "other levels"),
        ({"package_sha256": digest("else")}, "SHA-256"),
        ({"package": "bzip2"}, "package"),
        ({"trial_id": "t999"}, "trial"),
        ({"attempt": 2}, "attempt"),
        ({"experiment": "else"}, "experiment"),
        ({"schema": 99}, "schema 99"),
        ({"run": None}, "lacks the phase run"),
        ({"collect": None}, "lacks the phase collect"),
        ({"outcome": "timed_out"}, "does not say why"),
    ],
)
def test_a_record_that_cannot_be_what_was_leased_is_faulty(change: dict[str, object], reason: str) -> None:
    worker_id, lease = lease_one()
    result = say(worker_id, tell_record(lease, make_record(lease, **change)))
    attempt = find_attempt(lease.attempt)
    assert attempt.state == "faulty"
    assert reason in attempt.reason
    assert reason in result.refused[0]
    assert attempt.record is not None
    assert attempt.trial.state == "planned"
    assert send_orders()[worker_id].receipts == (lease.attempt,)


@pytest.mark.usefixtures("memory_database")
def test_a_package_without_collect_owes_no_such_phase() -> None:
    worker_id, lease = lease_one()
    stored = FleetExperiment.objects.get()
    head = msgspec.json.decode(bytes(stored.head), type=BundleHead)
    packages = tuple(msgspec.structs.replace(package, has_collect=False) for package in head.packages)
    stored.head = msgspec.json.encode(msgspec.structs.replace(head, packages=packages))
    stored.save()
    say(worker_id, tell_record(lease, make_record(lease, collect=None)))
    assert find_attempt(lease.attempt).state == "counted"


@pytest.mark.usefixtures("database")
def test_a_record_with_unknown_fields_is_faulty_and_kept() -> None:
    worker_id, lease = lease_one()
    payload = report(worker_id, tell_record(lease)).payload.replace(b'"seed":', b'"sneed":')
    result = ingest_reports([ReceivedReport(worker_id, payload)], START_S)
    attempt = find_attempt(lease.attempt)
    assert attempt.state == "faulty"
    assert "its record cannot be read" in attempt.reason
    assert b"sneed" in bytes(attempt.record or b"")
    assert len(result.refused) == 1


@pytest.mark.usefixtures("memory_database")
def test_a_report_that_cannot_be_read_ends_the_attempt_that_it_names() -> None:
    worker_id, lease = lease_one()
    payload = report(worker_id, tell_record(lease)).payload.replace(b'"rebooted":false', b'"rebooted":7')
    ingest_reports([ReceivedReport(worker_id, payload)], START_S)
    assert find_attempt(lease.attempt).state == "faulty"
    assert send_orders()[worker_id].receipts == (lease.attempt,)


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("payload", [b"", b"{", b"[1]", b"\xff\xfe", b'{"schema":1}', b"null"])
def test_noise_is_refused_with_an_event(payload: bytes) -> None:
    worker_id, lease = lease_one()
    result = ingest_reports([ReceivedReport(worker_id, payload)], START_S)
    assert len(result.refused) == 1
    assert Event.objects.filter(kind="report refused", worker_id=worker_id).count() == 1
    assert find_attempt(lease.attempt).state == "leased"


@pytest.mark.usefixtures("database")
def test_a_worker_cannot_speak_for_another() -> None:
    worker_id, lease = lease_one(workers=2)
    other = FleetWorker.objects.exclude(pk=worker_id).get().worker_id
    forged = report(other, tell_record(lease))
    borrowed = ReceivedReport(other, report(worker_id, tell_record(lease)).payload)
    result = ingest_reports([forged, borrowed], START_S)
    assert len(result.refused) == 2
    assert find_attempt(lease.attempt).state == "leased"


@pytest.mark.usefixtures("database")
def test_one_poisonous_report_does_not_keep_the_others_out() -> None:
    workers = [join().worker_id, join().worker_id]
    submit(workers)
    lease_trials(START_S)
    leases = list_leases()
    poison = report(workers[0], GaveUp("1.t\x00.1", "zero"))
    sound = [report(worker_id, tell_record(lease)) for worker_id, lease in leases.items()]
    stranger = report("wnobody", Taken("1.t001.1"))
    result = ingest_reports([poison, *sound, stranger], START_S)
    assert Attempt.objects.filter(state="counted").count() == 2
    assert any("wnobody: no such worker" in reason for reason in result.refused)
    assert find_violations() == []


@pytest.mark.usefixtures("database")
def test_a_number_that_no_database_holds_is_refused() -> None:
    worker_id, lease = lease_one()
    payload = report(worker_id, Taken(lease.attempt), clock_unix_ns=1 << 63).payload
    assert ingest_reports([ReceivedReport(worker_id, payload)], START_S).refused
    assert find_attempt(lease.attempt).state == "leased"


@pytest.mark.usefixtures("database")
def test_artifacts_are_kept_when_they_are_in_the_store_as_told() -> None:
    worker_id, lease = lease_one()
    bring(worker_id, digest("out"), 3)
    say(worker_id, tell_record(lease, artifacts=(ArtifactFile("run.stdout", digest("out"), 3),)))
    assert Artifact.objects.get().name == "run.stdout"
    assert find_attempt(lease.attempt).state == "counted"


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    "artifact",
    [
        ArtifactFile("run.stdout", digest("never uploaded"), 3),
        ArtifactFile("run.stdout", digest("out"), 4),
        ArtifactFile("../run.stdout", digest("out"), 3),
        ArtifactFile("/etc/passwd", digest("out"), 3),
        ArtifactFile("a\x00b", digest("out"), 3),
        ArtifactFile("n" * 256, digest("out"), 3),
    ],
)
def test_artifacts_that_are_not_as_told_make_the_record_faulty(artifact: ArtifactFile) -> None:
    worker_id, lease = lease_one()
    bring(worker_id, digest("out"), 3)
    say(worker_id, tell_record(lease, artifacts=(artifact,)))
    assert find_attempt(lease.attempt).state == "faulty"
    assert not Artifact.objects.exists()
