"""What becomes of attempts: counted once, tried again, late, faulty, lost."""

from __future__ import annotations

import msgspec
import pytest
from integration.service.fleets import (
    START_S,
    bring,
    digest,
    fail_record,
    find_attempt,
    hello,
    join,
    list_leases,
    make_phase,
    make_record,
    report,
    say,
    send_orders,
    submit,
    tell_record,
)

from datamill.service.coordinator.deadlines import expire_leases
from datamill.service.coordinator.dispatch import lease_trials
from datamill.service.coordinator.ingest import ReceivedReport, ingest_reports
from datamill.service.coordinator.invariants import find_violations
from datamill.service.coordinator.orders import list_unsent_orders, mark_all_orders_unsent, mark_orders_sent
from datamill.service.coordinator.step import step
from datamill.service.messages import (
    ArtifactFile,
    GaveUp,
    Lease,
    Orders,
    RecordReport,
    Refused,
    Session,
    Taken,
)
from datamill.service.models import Artifact, Attempt, Event, Trial, Worker

LATER_S = START_S + 10_000.0


def lease_one(workers: int = 1, **options: object) -> tuple[str, Lease]:
    """A fleet of equal workers, an experiment of one trial on the first, and its lease."""
    joined = [join().worker_id for _ in range(workers)]
    submit(joined[:1], trials=1, **options)  # type: ignore[arg-type]
    lease_trials(START_S)
    return joined[0], list_leases()[joined[0]]


def lease_again(worker_id: str, now_s: float = START_S) -> Lease:
    step(now_s)
    return list_leases(now_s)[worker_id]


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
    other = Worker.objects.exclude(pk=first).get().worker_id
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
def test_an_overdue_attempt_is_lost_and_its_worker_silent_until_it_is_heard() -> None:
    worker_id, lease = lease_one()
    deadline_s = find_attempt(lease.attempt).deadline_unix_s
    assert deadline_s == pytest.approx(START_S + lease.expected_s)
    assert expire_leases(deadline_s - 1.0) == 0
    assert expire_leases(deadline_s) == 1
    assert expire_leases(deadline_s) == 0
    assert find_attempt(lease.attempt).state == "lost"
    assert Worker.objects.get().state == "silent"
    assert lease_trials(deadline_s) == 0
    assert send_orders(deadline_s)[worker_id].lease is None
    say(worker_id, hello(), deadline_s + 5.0)
    assert Worker.objects.get().state == "idle"
    assert lease_again(worker_id, deadline_s + 5.0).spec.attempt == 2
    assert find_violations() == []


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
    assert Worker.objects.get().state == "idle"
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
def test_taken_lets_the_time_run_from_now() -> None:
    worker_id, lease = lease_one()
    say(worker_id, Taken(lease.attempt), START_S + 100.0)
    attempt = find_attempt(lease.attempt)
    assert attempt.state == "taken"
    assert attempt.deadline_unix_s == pytest.approx(START_S + 100.0 + lease.expected_s)


@pytest.mark.usefixtures("memory_database")
def test_orders_that_went_out_late_give_the_whole_time() -> None:
    worker_id = join().worker_id
    submit([worker_id], trials=1)
    lease_trials(START_S)
    leases = list_leases(START_S + 3600.0)
    attempt = find_attempt(leases[worker_id].attempt)
    assert attempt.deadline_unix_s == pytest.approx(START_S + 3600.0 + leases[worker_id].expected_s)


@pytest.mark.usefixtures("database")
def test_a_worker_that_comes_back_without_its_attempt_has_lost_it() -> None:
    worker_id, lease = lease_one()
    say(worker_id, Taken(lease.attempt), START_S + 1.0)
    result = say(worker_id, hello(), START_S + 60.0)
    assert find_attempt(lease.attempt).state == "lost"
    assert result.worker_ids == {worker_id}


@pytest.mark.usefixtures("memory_database")
def test_an_old_hello_that_was_long_under_way_loses_nothing() -> None:
    worker_id, lease = lease_one()
    say(worker_id, Taken(lease.attempt), START_S + 10.0)
    ingest_reports([report(worker_id, hello(), clock_s=START_S + 5.0)], START_S + 60.0)
    assert find_attempt(lease.attempt).state == "taken"


@pytest.mark.usefixtures("memory_database")
def test_a_hello_before_the_orders_were_read_loses_nothing() -> None:
    worker_id, lease = lease_one()
    say(worker_id, hello(), START_S + 1.0)
    assert find_attempt(lease.attempt).state == "leased"


@pytest.mark.usefixtures("memory_database")
def test_a_hello_says_that_an_attempt_is_taken_when_that_message_was_lost() -> None:
    worker_id, lease = lease_one()
    say(worker_id, hello(lease.attempt), START_S + 1.0)
    assert find_attempt(lease.attempt).state == "taken"


@pytest.mark.usefixtures("memory_database")
def test_a_hello_with_attempts_that_are_over_gets_receipts() -> None:
    worker_id, lease = lease_one()
    say(worker_id, tell_record(lease))
    send_orders()
    say(worker_id, hello(lease.attempt, "99.t1.1"))
    assert set(send_orders()[worker_id].receipts) == {lease.attempt, "99.t1.1"}


@pytest.mark.usefixtures("memory_database")
def test_a_refusal_for_good_asks_another_worker_at_once() -> None:
    first, lease = lease_one(workers=2)
    say(first, Refused(lease.attempt, "policy", "not on my machine"))
    attempt = find_attempt(lease.attempt)
    assert (attempt.state, attempt.reason) == ("refused", "policy: not on my machine")
    assert attempt.trial.worker_id != first
    assert Worker.objects.get(pk=first).failed_attempts == 0
    say(first, Refused(lease.attempt, "policy", "again"))
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
def test_a_refusal_that_may_pass_is_tried_again_on_the_same_worker() -> None:
    first, lease = lease_one(workers=2)
    say(first, Refused(lease.attempt, "file", "not found"))
    assert find_attempt(lease.attempt).trial.worker_id == first
    assert Worker.objects.get(pk=first).failed_attempts == 1


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
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seed": 1}, "seed"),
        ({"levels": {"aslr": "off"}}, "other levels than leased: aslr"),
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
    other = Worker.objects.exclude(pk=worker_id).get().worker_id
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


@pytest.mark.usefixtures("memory_database")
def test_all_orders_are_sent_again_to_a_broker_that_forgot_them() -> None:
    worker_id, lease = lease_one()
    assert send_orders() == {}
    mark_all_orders_unsent()
    assert list_leases()[worker_id] == lease


@pytest.mark.usefixtures("memory_database")
def test_orders_that_changed_while_they_were_sent_are_sent_again() -> None:
    worker_id = join().worker_id
    before = list_unsent_orders(10, START_S)
    submit([worker_id])
    lease_trials(START_S)
    mark_orders_sent(before, START_S)
    (after,) = list_unsent_orders(10, START_S)
    assert after.sequence > before[0].sequence
    mark_orders_sent([after], START_S)
    assert list_unsent_orders(10, START_S) == []


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
def test_the_deadline_leaves_time_for_limits_warm_ups_and_a_reboot() -> None:
    worker_id = join().worker_id
    submit([worker_id], trials=1, reboot="trial")
    lease_trials(START_S)
    lease = list_leases()[worker_id]
    assert lease.reboot
    limits = lease.spec.limits
    scripts = limits.setup_timeout_s + limits.run_timeout_s + limits.collect_timeout_s
    assert lease.expected_s > scripts + 600.0 + 120.0
    assert lease.expected_s < scripts + 600.0 + 120.0 + 60.0


@pytest.mark.usefixtures("memory_database")
def test_a_record_of_a_reboot_is_noted() -> None:
    worker_id, lease = lease_one()
    say(worker_id, RecordReport(lease.attempt, make_record(lease, run=make_phase()), (), True, "boot-0"))
    assert find_attempt(lease.attempt).rebooted


@pytest.mark.usefixtures("memory_database")
def test_orders_give_no_receipt_for_the_attempt_that_they_lease() -> None:
    worker_id = join().worker_id
    experiment = submit([worker_id], trials=1)
    # Told before it was leased: by a worker of a database that was put back, or by one that guesses.
    say(worker_id, GaveUp(f"{experiment}.t001.1", "whatever it was"))
    assert send_orders()[worker_id].receipts == (f"{experiment}.t001.1",)
    lease_trials(START_S)
    orders = send_orders()[worker_id]
    assert orders.lease is not None
    assert orders.lease.attempt == f"{experiment}.t001.1"
    assert orders.receipts == ()


@pytest.mark.usefixtures("database")
def test_orders_ask_a_silent_worker_for_a_hello_until_it_is_heard() -> None:
    worker_id, lease = lease_one()
    session = Session(1, "ab" * 8)
    say(worker_id, msgspec.structs.replace(hello(), session=session))
    assert send_orders()[worker_id].sessions == (session.id,)
    expire_leases(LATER_S)
    # Whatever it has to say of the attempt that it lost, it may have nothing to say at all.
    (unsent,) = list_unsent_orders(10, LATER_S)
    orders = msgspec.json.decode(unsent.payload, type=Orders)
    assert (orders.lease, orders.sessions) == (None, ())
    mark_orders_sent([unsent], LATER_S)
    (again,) = list_unsent_orders(10, LATER_S, [worker_id])
    assert again.is_again
    assert again.payload == unsent.payload
    say(worker_id, msgspec.structs.replace(hello(), session=session), LATER_S)
    assert send_orders(LATER_S)[worker_id].sessions == (session.id,)
    assert list_unsent_orders(10, LATER_S, [worker_id]) == []
    assert lease.attempt == "1.t001.1"
