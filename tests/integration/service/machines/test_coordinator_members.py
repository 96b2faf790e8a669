"""Workers that are away, drained or removed; workers and packages that fail too often."""

from __future__ import annotations

import pytest
from integration.service.fleets import (
    START_S,
    digest,
    fail_record,
    find_attempt,
    hello,
    join,
    list_leases,
    make_user,
    say,
    submit,
    tell_record,
)

from datamill.experiment.errors import InputError
from datamill.protocol.fleet import GaveUp, Lease, Policy, Taken
from datamill.protocol.offers import FactorOffer
from datamill.service.coordinator.experiments.experiments import release_experiment
from datamill.service.coordinator.presence.health import judge_packages, judge_workers, lift_quarantine
from datamill.service.coordinator.presence.members import (
    GIVE_UP_AFTER_S,
    MOVE_AFTER_S,
    drain_worker,
    remove_worker,
    resume_worker,
)
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import Event, FleetExperiment, FleetWorker, Quarantine, Trial


def lease_round(now_s: float = START_S) -> dict[str, Lease]:
    step(now_s)
    return list_leases(now_s)


def list_places() -> dict[str, int]:
    places = list(Trial.objects.values_list("worker_id", flat=True))
    return {place: places.count(place) for place in set(places)}


@pytest.mark.usefixtures("database")
def test_trials_of_a_removed_worker_go_to_an_equivalent_one() -> None:
    gone, equal, other = join("gone"), join(), join(cpu_model="Another")
    submit([gone.worker_id, other.worker_id])
    leases = lease_round()
    say(gone.worker_id, Taken(leases[gone.worker_id].attempt))
    remove_worker("gone", make_user(), START_S)
    step(START_S)
    assert list_places() == {equal.worker_id: 8, other.worker_id: 8}
    assert find_attempt(leases[gone.worker_id].attempt).state == "lost"
    assert Event.objects.filter(kind="trial moved").count() == 8
    assert find_violations() == []


@pytest.mark.usefixtures("database")
def test_trials_of_a_removed_worker_without_its_like_are_given_up() -> None:
    gone, other = join("gone"), join(cpu_model="Another")
    submit([gone.worker_id])
    lease_round()
    remove_worker("gone", make_user(), START_S)
    step(START_S)
    assert set(Trial.objects.values_list("state", flat=True)) == {"given_up"}
    assert FleetExperiment.objects.get().state == "completed"
    assert list_places() == {gone.worker_id: 8}
    assert FleetWorker.objects.get(pk=other.worker_id).state == "idle"
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
def test_a_spare_is_asked_before_other_equivalent_workers() -> None:
    gone, equal, spare = join("gone"), join(), join()
    submit([gone.worker_id], spares=[spare.worker_id])
    remove_worker("gone", make_user(), START_S)
    step(START_S)
    assert list_places() == {spare.worker_id: 8}
    assert FleetWorker.objects.get(pk=equal.worker_id).state == "idle"


@pytest.mark.usefixtures("memory_database")
def test_trials_are_divided_among_equivalent_workers() -> None:
    gone, *equal = (join().worker_id for _ in range(3))
    submit([gone])
    remove_worker(FleetWorker.objects.get(pk=gone).name, make_user(), START_S)
    step(START_S)
    assert list_places() == dict.fromkeys(equal, 4)


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize(
    ("policy", "changes"),
    [
        (Policy(users=("eve",), reboot=True), {}),
        (Policy(packages=(digest("else"),), reboot=True), {}),
        (Policy(forbidden_factors=("aslr",), reboot=True), {}),
        (Policy(package_bytes=10, reboot=True), {}),
        (Policy(reboot=False), {}),
        (Policy(reboot=True), {"factors": (FactorOffer("aslr", "process", ("on",)),)}),
    ],
)
def test_a_worker_whose_owner_or_offer_rules_it_out_is_not_equivalent(
    policy: Policy, changes: dict[str, object]
) -> None:
    gone = join("gone")
    join(policy=policy, **changes)
    submit([gone.worker_id], reboot="trial")
    remove_worker("gone", make_user(), START_S)
    step(START_S)
    assert list_places() == {gone.worker_id: 8}


@pytest.mark.usefixtures("database")
def test_a_silent_workers_trials_wait_an_hour_and_then_go() -> None:
    first, second = join().worker_id, join().worker_id
    submit([first], trials=3)
    lease = lease_round()[first]
    overdue_s = START_S + lease.expected_s
    step(overdue_s)
    heard_s = FleetWorker.objects.get(pk=first).heard_unix_s
    if overdue_s < heard_s + MOVE_AFTER_S:
        assert list_places() == {first: 3}
    step(heard_s + MOVE_AFTER_S)
    assert list_places() == {second: 3}
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
def test_a_silent_worker_without_its_like_has_a_week_to_come_back() -> None:
    worker_id = join().worker_id
    submit([worker_id])
    lease_round()
    step(START_S + MOVE_AFTER_S)
    assert FleetWorker.objects.get().state == "silent"
    assert 0.0 < step(START_S + GIVE_UP_AFTER_S - 30.0) <= 30.0
    assert set(Trial.objects.values_list("state", flat=True)) == {"planned"}
    step(START_S + GIVE_UP_AFTER_S)
    assert set(Trial.objects.values_list("state", flat=True)) == {"given_up"}
    assert FleetExperiment.objects.get().state == "completed"


@pytest.mark.usefixtures("database")
def test_a_drained_worker_ends_its_trial_and_gets_no_other() -> None:
    worker = join()
    submit([worker.worker_id])
    lease = lease_round()[worker.worker_id]
    drain_worker(worker.name, make_user(), START_S)
    assert FleetWorker.objects.get().state == "drained"
    say(worker.worker_id, tell_record(lease))
    assert find_attempt(lease.attempt).state == "counted"
    assert lease_round() == {}
    resume_worker(worker.name, make_user(), START_S)
    assert FleetWorker.objects.get().state == "idle"
    assert len(lease_round()) == 1
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
def test_a_worker_that_is_resumed_in_its_last_trial_is_busy() -> None:
    worker = join()
    submit([worker.worker_id])
    lease_round()
    drain_worker(worker.name, make_user(), START_S)
    resume_worker(worker.name, make_user(), START_S)
    assert FleetWorker.objects.get().state == "busy"
    assert find_violations() == []


@pytest.mark.usefixtures("database")
def test_a_worker_that_fails_far_more_than_its_peers_is_drained_and_shown() -> None:
    workers = [join().worker_id for _ in range(3)]
    submit(workers, most_attempts=9)
    broken = workers[1]
    for _ in range(8):
        for worker_id, lease in lease_round().items():
            failing = worker_id == broken
            record = fail_record(lease, "internal") if failing else None
            say(worker_id, tell_record(lease, record))
    step(START_S)
    stored = FleetWorker.objects.get(pk=broken)
    assert stored.state == "drained"
    assert "attempts failed, of its peers' 0 of" in stored.state_reason
    assert Event.objects.filter(kind="worker drained", worker_id=broken).count() == 1
    assert FleetWorker.objects.filter(state="drained").count() == 1
    assert judge_workers(START_S) == []
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
def test_workers_that_all_fail_alike_are_not_drained() -> None:
    workers = [join().worker_id for _ in range(3)]
    submit(workers, most_attempts=9)
    for _ in range(6):
        for worker_id, lease in lease_round().items():
            say(worker_id, tell_record(lease, fail_record(lease, "internal")))
    step(START_S)
    assert not FleetWorker.objects.filter(state="drained").exists()


def lose_attempts(workers: list[str], times: int) -> None:
    for _ in range(times):
        for worker_id, lease in lease_round().items():
            if worker_id in workers:
                say(worker_id, GaveUp(lease.attempt, "the machine went down"))


@pytest.mark.usefixtures("database")
def test_a_package_that_brings_machines_down_is_kept_apart() -> None:
    workers = [join().worker_id, join().worker_id]
    experiment = submit(workers, most_attempts=9)
    lose_attempts(workers, 2)
    step(START_S)
    quarantined = set(Quarantine.objects.values_list("sha256", flat=True))
    assert quarantined
    assert quarantined <= {digest("xz"), digest("bzip2")}
    stored = FleetExperiment.objects.get()
    assert stored.state == "held"
    assert "is in quarantine" in stored.state_reason
    assert lease_round() == {}
    assert find_violations() == []
    with pytest.raises(InputError, match="in quarantine"):
        release_experiment(experiment, make_user(), START_S)
    with pytest.raises(InputError, match="only an administrator"):
        lift_quarantine(min(quarantined), make_user(), START_S)
    for sha256 in quarantined:
        lift_quarantine(sha256, make_user("root", staff=True), START_S + 1.0)
    assert judge_packages(START_S + 1.0) == []
    release_experiment(experiment, make_user(), START_S + 1.0)
    assert len(lease_round(START_S + 1.0)) == 2
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
def test_a_package_that_ever_completed_is_not_to_blame() -> None:
    workers = [join().worker_id, join().worker_id]
    submit(workers, most_attempts=9, trials=2)
    submit(workers, most_attempts=9, text=TEXT_OF_ONE)
    for worker_id, lease in lease_round().items():
        say(worker_id, tell_record(lease))
    lose_attempts(workers, 4)
    assert not Quarantine.objects.exists()


@pytest.mark.usefixtures("memory_database")
def test_a_package_lost_on_one_worker_alone_is_not_to_blame() -> None:
    worker_id = join().worker_id
    submit([worker_id], most_attempts=9)
    lose_attempts([worker_id], 5)
    assert not Quarantine.objects.exists()


TEXT_OF_ONE = """
[experiment]
name = "xz-alone"
replicates = 2

[[package]]
name = "xz"
path = "xz"

[factors]
aslr = ["on", "off"]
"""


@pytest.mark.usefixtures("memory_database")
def test_a_worker_that_is_back_keeps_its_trials() -> None:
    worker_id = join().worker_id
    submit([worker_id], trials=2)
    lease = lease_round()[worker_id]
    now_s = START_S + lease.expected_s
    step(now_s)
    say(worker_id, hello(), now_s + 1.0)
    again = lease_round(now_s + 1.0)[worker_id]
    assert again.spec.trial_id == lease.spec.trial_id
    assert Event.objects.filter(kind="worker heard again").count() == 1
