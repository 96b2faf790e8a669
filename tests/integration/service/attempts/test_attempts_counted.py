"""Which attempt of a trial counts, and what follows one that does not."""

from __future__ import annotations

import msgspec
import pytest
from integration.service.fleets import (
    LATER_S,
    START_S,
    digest,
    fail_record,
    find_attempt,
    hello,
    join,
    lease_again,
    lease_one,
    list_leases,
    make_phase,
    make_record,
    report,
    say,
    send_orders,
    submit,
    tell_record,
)

from datamill.protocol.fleet import (
    GaveUp,
    RecordReport,
    Refused,
    Taken,
)
from datamill.service.coordinator.experiments.dispatch import lease_trials
from datamill.service.coordinator.messages.ingest import ReceivedReport, ingest_reports
from datamill.service.coordinator.presence.deadlines import expire_leases
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import Attempt, Event, FleetWorker, Trial


@pytest.mark.usefixtures("database")
def test_a_record_that_arrives_twice_is_counted_once() -> None:
    worker_id, lease = lease_one()
    message = report(worker_id, tell_record(lease))
    ingest_reports([message, message], START_S)
    ingest_reports([message], START_S + 1.0)
    assert Attempt.objects.get().state == "counted"
    assert Event.objects.filter(kind="attempt counted").count() == 1
    assert send_orders()[worker_id].receipts == (lease.attempt,)
    assert find_violations() == []


@pytest.mark.usefixtures("database")
def test_a_record_is_kept_byte_for_byte() -> None:
    worker_id, lease = lease_one()
    record = msgspec.json.encode(make_record(lease)).replace(
        b'"metrics":{}', b'"metrics": {"x": [1.10, 1e-7]}'
    )
    payload = report(worker_id, tell_record(lease)).payload
    payload = payload.replace(msgspec.json.encode(make_record(lease)), record)
    assert ingest_reports([ReceivedReport(worker_id, payload)], START_S).refused == ()
    assert bytes(find_attempt(lease.attempt).record or b"") == record


@pytest.mark.usefixtures("memory_database")
def test_a_packages_own_failure_is_an_answer() -> None:
    worker_id, lease = lease_one()
    say(worker_id, tell_record(lease, fail_record(lease, "exit_status")))
    attempt = find_attempt(lease.attempt)
    assert (attempt.state, attempt.outcome, attempt.trial.state) == ("counted", "failed", "counted")


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize("kind", ["disk_full", "isolation", "internal"])
def test_a_failure_of_the_host_is_tried_again(kind: str) -> None:
    worker_id, lease = lease_one()
    say(worker_id, tell_record(lease, fail_record(lease, kind)))
    attempt = find_attempt(lease.attempt)
    assert (attempt.state, attempt.trial.state) == ("faulty", "planned")
    assert attempt.record is not None
    again = lease_again(worker_id)
    assert again.attempt == lease.attempt.removesuffix(".1") + ".2"
    assert again.spec.attempt == 2
    assert again.spec.seed == lease.spec.seed


@pytest.mark.usefixtures("database")
def test_later_attempts_go_to_an_equivalent_worker_and_end_somewhere() -> None:
    first, lease = lease_one(workers=2, most_attempts=4)
    other = FleetWorker.objects.exclude(pk=first).get().worker_id
    made_by = []
    for _ in range(4):
        worker_id = find_attempt(lease.attempt).worker_id
        made_by.append(worker_id)
        say(worker_id, tell_record(lease, fail_record(lease, "internal")))
        step(START_S)
        lease = next(iter(list_leases().values()), lease)
        assert find_violations() == []
    assert made_by[:2] == [first, first]
    assert made_by[2] == other
    assert Trial.objects.get().state == "given_up"
    assert Trial.objects.get().experiment.state == "completed"
    assert Event.objects.filter(kind="trial moved").exists()
    assert "its 4 attempts failed" in Event.objects.get(kind="trial given up").detail


@pytest.mark.usefixtures("memory_database")
def test_a_worker_without_its_like_tries_until_the_limit() -> None:
    worker_id, lease = lease_one(most_attempts=3)
    join(cpu_model="Another")
    for _ in range(3):
        assert find_attempt(lease.attempt).worker_id == worker_id
        say(worker_id, GaveUp(lease.attempt, "the power went"))
        step(START_S)
        lease = list_leases().get(worker_id, lease)
    assert list(Attempt.objects.values_list("state", flat=True)) == ["lost"] * 3
    assert Trial.objects.get().state == "given_up"


@pytest.mark.usefixtures("database")
def test_a_record_of_a_lost_attempt_counts_when_no_other_does() -> None:
    worker_id, lease = lease_one()
    expire_leases(LATER_S)
    say(worker_id, tell_record(lease), LATER_S)
    attempt = find_attempt(lease.attempt)
    assert (attempt.state, attempt.trial.state) == ("counted", "counted")
    assert find_violations() == []


@pytest.mark.usefixtures("database")
def test_an_attempt_elsewhere_is_late_when_the_lost_one_was_counted_first() -> None:
    worker_id, lease = lease_one()
    expire_leases(LATER_S)
    say(worker_id, hello(lease.attempt), LATER_S)
    second = lease_again(worker_id, LATER_S)
    say(worker_id, tell_record(lease), LATER_S)
    assert find_violations() == []
    say(worker_id, tell_record(second), LATER_S)
    states = dict(Attempt.objects.values_list("number", "state"))
    assert states == {1: "counted", 2: "late"}
    assert find_attempt(second.attempt).record is not None
    assert FleetWorker.objects.get().state == "idle"
    assert find_violations() == []


@pytest.mark.usefixtures("database")
def test_a_lost_record_is_kept_and_not_counted_when_another_was_first() -> None:
    worker_id, lease = lease_one()
    expire_leases(LATER_S)
    say(worker_id, hello(lease.attempt), LATER_S)
    second = lease_again(worker_id, LATER_S)
    late = report(worker_id, tell_record(lease))
    ingest_reports([report(worker_id, tell_record(second)), late, late], LATER_S)
    assert dict(Attempt.objects.values_list("number", "state")) == {1: "late", 2: "counted"}
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
def test_a_record_after_its_trial_was_given_up_counts_while_the_experiment_runs() -> None:
    worker_id = join().worker_id
    submit([worker_id], trials=2, most_attempts=1)
    lease_trials(START_S)
    lease = list_leases()[worker_id]
    step(LATER_S)
    assert find_attempt(lease.attempt).trial.state == "given_up"
    say(worker_id, tell_record(lease), LATER_S)
    assert find_attempt(lease.attempt).trial.state == "counted"
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
def test_a_record_after_its_experiment_ended_is_late() -> None:
    worker_id, lease = lease_one(most_attempts=1)
    step(LATER_S)
    say(worker_id, tell_record(lease), LATER_S)
    attempt = find_attempt(lease.attempt)
    assert (attempt.state, attempt.trial.state) == ("late", "given_up")
    assert attempt.trial.experiment.state == "completed"


@pytest.mark.usefixtures("memory_database")
def test_a_refusal_for_good_asks_another_worker_at_once() -> None:
    first, lease = lease_one(workers=2)
    say(first, Refused(lease.attempt, "policy", "not on my machine"))
    attempt = find_attempt(lease.attempt)
    assert (attempt.state, attempt.reason) == ("refused", "policy: not on my machine")
    assert attempt.trial.worker_id != first
    assert FleetWorker.objects.get(pk=first).failed_attempts == 0
    say(first, Refused(lease.attempt, "policy", "again"))
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
def test_a_refusal_that_may_pass_is_tried_again_on_the_same_worker() -> None:
    first, lease = lease_one(workers=2)
    say(first, Refused(lease.attempt, "file", "not found"))
    assert find_attempt(lease.attempt).trial.worker_id == first
    assert FleetWorker.objects.get(pk=first).failed_attempts == 1


@pytest.mark.usefixtures("database")
def test_a_worker_without_room_rests_before_its_next_attempt_and_longer_each_time() -> None:
    worker_id, lease = lease_one()
    now_s, rests_s = START_S, []
    for _ in range(3):
        ingest_reports([report(worker_id, Refused(lease.attempt, "disk", "no room"))], now_s)
        assert lease_trials(now_s) == 0
        turn_s, leases = now_s, list_leases(now_s)
        while worker_id not in leases:
            due_s = turn_s
            turn_s += max(step(due_s), 0.001)
            leases = list_leases(due_s)
        rests_s.append(round(due_s - now_s))
        now_s, lease = due_s, leases[worker_id]
    assert rests_s == [60, 300, 1500]


@pytest.mark.usefixtures("memory_database")
def test_everything_of_a_trial_is_in_the_account() -> None:
    worker_id, lease = lease_one()
    say(worker_id, Taken(lease.attempt))
    say(worker_id, tell_record(lease))
    told = list(Event.objects.filter(attempt=lease.attempt).order_by("id").values_list("kind", flat=True))
    assert told == ["attempt leased", "attempt taken", "attempt counted"]
    first = Event.objects.filter(attempt=lease.attempt).earliest("id")
    assert (first.user, first.worker_id, first.package_sha256) == ("ada", worker_id, digest("xz"))


@pytest.mark.usefixtures("memory_database")
def test_a_record_of_a_reboot_is_noted() -> None:
    worker_id, lease = lease_one()
    say(worker_id, RecordReport(lease.attempt, make_record(lease, run=make_phase()), (), True, "boot-0"))
    assert find_attempt(lease.attempt).rebooted
