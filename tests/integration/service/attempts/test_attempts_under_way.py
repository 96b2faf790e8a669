"""Attempts that were ordered and have not ended: their deadlines, and what hellos say of them."""

from __future__ import annotations

import pytest
from integration.service.fleets import (
    START_S,
    find_attempt,
    hello,
    join,
    lease_again,
    lease_one,
    list_leases,
    report,
    say,
    send_orders,
    submit,
    tell_record,
)

from datamill.protocol.fleet import Policy, Taken
from datamill.service.coordinator.experiments.dispatch import lease_trials
from datamill.service.coordinator.messages.ingest import ingest_reports
from datamill.service.coordinator.presence.deadlines import expire_leases
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.models import FleetWorker


@pytest.mark.usefixtures("database")
def test_an_overdue_attempt_is_lost_and_its_worker_silent_until_it_is_heard() -> None:
    worker_id, lease = lease_one()
    deadline_s = find_attempt(lease.attempt).deadline_unix_s
    assert deadline_s == pytest.approx(START_S + lease.expected_s)
    assert expire_leases(deadline_s - 1.0) == 0
    assert expire_leases(deadline_s) == 1
    assert expire_leases(deadline_s) == 0
    assert find_attempt(lease.attempt).state == "lost"
    assert FleetWorker.objects.get().state == "silent"
    assert lease_trials(deadline_s) == 0
    assert send_orders(deadline_s)[worker_id].lease is None
    say(worker_id, hello(), deadline_s + 5.0)
    assert FleetWorker.objects.get().state == "idle"
    assert lease_again(worker_id, deadline_s + 5.0).spec.attempt == 2
    assert find_violations() == []


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
    # After a reboot it waits up to a minute until the machine is quiet.
    assert lease.expected_s < scripts + 600.0 + 120.0 + 60.0 + 60.0


@pytest.mark.usefixtures("memory_database")
def test_the_deadline_leaves_time_for_a_machine_to_leave_the_boot_of_another_trial() -> None:
    booted = [
        join(policy=policy).worker_id
        for policy in (Policy(reboot=True, kernels=True), Policy(reboot=True, boot_parameters=("nosmt",)))
    ]
    never = join(policy=Policy(reboot=True)).worker_id
    submit([*booted, never])
    lease_trials(START_S)
    leases = list_leases()
    for worker_id in booted:
        lease = leases[worker_id]
        assert not lease.reboot
        assert lease.expected_s == pytest.approx(leases[never].expected_s + 600.0)
        assert find_attempt(lease.attempt).deadline_unix_s == pytest.approx(START_S + lease.expected_s)


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
