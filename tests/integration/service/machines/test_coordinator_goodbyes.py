"""Workers that leave say so: the page shows it at once, and a goodbye that is lost or late does no harm."""

from __future__ import annotations

import pytest
from integration.service.fleets import (
    START_S,
    find_attempt,
    join,
    list_leases,
    make_inventory,
    make_user,
    say,
    submit,
    tell_record,
)

from datamill.protocol.fleet import GaveUp, Goodbye, Hello, Lease, Policy, Session, Taken
from datamill.service.coordinator.presence.deadlines import expire_leases
from datamill.service.coordinator.presence.members import drain_worker, move_trials, resume_worker
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import Event, FleetWorker, Trial

NUMBERS = {"first": 1, "second": 2, "third": 3}


def greet(worker_id: str, session: str, now_s: float = START_S, attempts: tuple[str, ...] = ()) -> None:
    told = Session(NUMBERS[session], session) if session else None
    say(worker_id, Hello(make_inventory("one"), Policy(), attempts, told), now_s)


def part(worker_id: str, session: str, now_s: float = START_S) -> None:
    say(worker_id, Goodbye(Session(NUMBERS[session], session)), now_s)


def join_and_greet(session: str = "first") -> str:
    worker_id = join("one").worker_id
    greet(worker_id, session)
    return worker_id


def find_state() -> str:
    assert find_violations() == []
    return FleetWorker.objects.get().state


def lease_one(now_s: float = START_S) -> Lease:
    step(now_s)
    (lease,) = list_leases(now_s).values()
    return lease


@pytest.mark.usefixtures("database")
def test_a_worker_that_says_goodbye_is_away_at_once_and_gets_no_trials() -> None:
    worker_id = join_and_greet()
    part(worker_id, "first")
    assert find_state() == "away"
    assert Event.objects.filter(kind="worker left").count() == 1
    submit([worker_id])
    step(START_S + 1)
    assert list_leases(START_S + 1) == {}


@pytest.mark.usefixtures("database")
def test_a_worker_that_is_back_is_idle_again() -> None:
    worker_id = join_and_greet()
    part(worker_id, "first")
    submit([worker_id])
    greet(worker_id, "second")
    assert find_state() == "idle"
    assert lease_one().attempt


@pytest.mark.usefixtures("memory_database")
def test_a_late_goodbye_does_not_concern_the_session_that_began_since() -> None:
    worker_id = join_and_greet()
    greet(worker_id, "second")
    part(worker_id, "first")
    assert find_state() == "idle"
    # Nor when the hello of the old one is repeated before it.
    greet(worker_id, "first")
    part(worker_id, "first")
    assert find_state() == "idle"
    part(worker_id, "second")
    assert find_state() == "away"


@pytest.mark.usefixtures("memory_database")
def test_a_session_of_which_all_comes_late_does_not_end_the_one_that_began_after_it() -> None:
    worker_id = join("one").worker_id
    greet(worker_id, "second")
    greet(worker_id, "first")
    part(worker_id, "first")
    assert find_state() == "idle"
    greet(worker_id, "third")
    part(worker_id, "third")
    assert find_state() == "away"


@pytest.mark.usefixtures("memory_database")
def test_a_worker_whose_disk_was_put_back_is_there() -> None:
    worker_id = join("one").worker_id
    greet(worker_id, "third")
    part(worker_id, "third")
    # The numbers begin again where the disk is of before.
    greet(worker_id, "first")
    assert find_state() == "idle"


@pytest.mark.usefixtures("memory_database")
def test_a_goodbye_of_a_session_that_never_said_hello_is_not_heeded() -> None:
    worker_id = join("one").worker_id
    part(worker_id, "first")
    assert find_state() == "idle"
    assert not Event.objects.filter(kind="worker left").exists()


@pytest.mark.usefixtures("memory_database")
def test_a_hello_that_comes_behind_its_own_goodbye_does_not_bring_the_worker_back() -> None:
    worker_id = join_and_greet()
    part(worker_id, "first")
    greet(worker_id, "first")
    part(worker_id, "first")
    assert find_state() == "away"
    assert Event.objects.filter(kind="worker left").count() == 1


@pytest.mark.usefixtures("memory_database")
def test_a_worker_of_an_earlier_version_that_says_hello_is_there() -> None:
    worker_id = join_and_greet()
    part(worker_id, "first")
    greet(worker_id, "")
    assert find_state() == "idle"


@pytest.mark.usefixtures("database")
def test_what_was_ordered_and_not_taken_goes_back_when_its_worker_leaves() -> None:
    worker_id = join_and_greet()
    submit([worker_id])
    lease = lease_one()
    part(worker_id, "first")
    assert find_state() == "away"
    attempt = find_attempt(lease.attempt)
    assert (attempt.state, attempt.trial.state) == ("cancelled", "planned")
    # Leaving in order says nothing against a machine.
    worker = FleetWorker.objects.get()
    assert (worker.ended_attempts, worker.failed_attempts) == (0, 0)
    greet(worker_id, "second", START_S + 1)
    again = lease_one(START_S + 2)
    assert again.attempt == f"{lease.attempt.rpartition('.')[0]}.2"


@pytest.mark.usefixtures("memory_database")
def test_what_was_taken_stays_its_workers_own_when_it_leaves() -> None:
    worker_id = join_and_greet()
    submit([worker_id])
    lease = lease_one()
    say(worker_id, Taken(lease.attempt))
    part(worker_id, "first")
    assert find_state() == "busy"
    say(worker_id, tell_record(lease))
    assert find_state() == "away"
    assert find_attempt(lease.attempt).state == "counted"


@pytest.mark.usefixtures("memory_database")
def test_a_worker_that_is_stopped_in_a_trial_gets_no_other_one() -> None:
    worker_id = join_and_greet()
    submit([worker_id])
    lease = lease_one()
    say(worker_id, Taken(lease.attempt))
    # As the agent says it: who it is, that it goes, and what became of the attempt.
    greet(worker_id, "second", START_S + 1, (lease.attempt,))
    part(worker_id, "second", START_S + 1)
    say(worker_id, GaveUp(lease.attempt, "told to end"), START_S + 2)
    assert find_state() == "away"
    step(START_S + 3)
    assert list_leases(START_S + 3) == {}
    assert find_attempt(lease.attempt).trial.state == "planned"


@pytest.mark.usefixtures("memory_database")
def test_a_worker_that_left_with_an_attempt_that_is_overdue_is_silent_and_then_away() -> None:
    worker_id = join_and_greet()
    submit([worker_id])
    lease = lease_one()
    say(worker_id, Taken(lease.attempt))
    part(worker_id, "first")
    expire_leases(START_S + 1e6)
    assert find_state() == "silent"
    say(worker_id, tell_record(lease), START_S + 1e6)
    assert find_state() == "away"


@pytest.mark.usefixtures("database")
def test_a_worker_that_is_resumed_while_it_is_away_is_away() -> None:
    worker_id = join_and_greet()
    drain_worker("one", make_user(), START_S)
    part(worker_id, "first")
    assert find_state() == "drained"
    resume_worker("one", make_user(), START_S)
    assert find_state() == "away"
    drain_worker("one", make_user(), START_S)
    greet(worker_id, "second")
    resume_worker("one", make_user(), START_S)
    assert find_state() == "idle"


@pytest.mark.usefixtures("memory_database")
def test_trials_of_a_worker_that_is_away_go_to_another_after_an_hour() -> None:
    first, other = join("one").worker_id, join("other").worker_id
    greet(first, "first")
    submit([first])
    part(first, "first")
    assert move_trials(START_S + 60.0) == pytest.approx(3540.0)
    move_trials(START_S + 3601.0)
    assert set(Trial.objects.values_list("worker_id", flat=True)) == {other}


@pytest.mark.usefixtures("database")
def test_a_worker_that_is_stopped_again_and_again_gives_up_no_trial() -> None:
    worker_id = join("one").worker_id
    experiment_id = submit([worker_id])
    attempts = []
    for number in range(1, 9):
        now_s = START_S + 10 * number
        session = Session(number, f"session-{number}")
        say(worker_id, Hello(make_inventory("one"), Policy(), (), session), now_s)
        step(now_s + 1)
        attempts += [lease.attempt for lease in list_leases(now_s + 1).values()]
        say(worker_id, Goodbye(session), now_s + 2)
    # The second lease waits for the worker; nothing was tried, so nothing failed.
    assert sorted(set(attempts)) == [f"{experiment_id}.t001.{number}" for number in (1, 2)]
    states = Trial.objects.filter(experiment_id=experiment_id).values_list("state", flat=True)
    assert set(states) == {"planned", "leased"}
