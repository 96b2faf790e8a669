"""A package of an experiment whose first trials fail alike gets no more leases there; others go on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import msgspec
import pytest
from django.core.management import call_command
from integration.service.fleets import (
    LATER_S,
    START_S,
    TEXT,
    digest,
    fail_record,
    find_attempt,
    join,
    list_leases,
    make_new,
    say,
    submit,
    tell_record,
)

from datamill.protocol.fleet import GaveUp, Lease, Taken
from datamill.service.coordinator.experiments.dispatch import lease_trials
from datamill.service.coordinator.experiments.submission import create_experiment
from datamill.service.coordinator.leasing import standings
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import Event, FleetExperiment, PackageStanding, Trial

pytestmark = pytest.mark.usefixtures("database")
MANY = TEXT.replace("replicates = 2", "replicates = 9")
STOPPED = "package xz is stopped: its first 3 trials failed alike. it went wrong"


def work(packages: dict[str, int], *, rounds: int = 100, now_s: float = START_S) -> Counter[str]:
    """Have all workers make what they are leased; those of some packages fail, up to a number of times.

    Returns:
        How many trials of each package were leased.
    """
    leased: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for _ in range(rounds):
        step(now_s)
        leases = list_leases(now_s)
        if not leases:
            return leased
        for worker_id, lease in sorted(leases.items()):
            name = lease.spec.package.name
            leased[name] += 1
            fails = failed[name] < packages.get(name, 0)
            failed[name] += fails
            say(worker_id, tell_record(lease, fail_record(lease) if fails else None), now_s)
    return leased


def count_states(package: str) -> Counter[str]:
    return Counter(Trial.objects.filter(package_sha256=digest(package)).values_list("state", flat=True))


def test_a_package_that_always_fails_is_stopped_and_the_other_goes_on() -> None:
    number = submit([join().worker_id])
    leased = work({"xz": 1000})
    assert leased == {"xz": 3, "bzip2": 4}
    assert count_states("xz") == {"counted": 3, "cancelled": 1}
    assert count_states("bzip2") == {"counted": 4}
    stored = FleetExperiment.objects.get(pk=number)
    assert stored.state == "completed"
    assert stored.state_reason == "package xz was stopped: its first 3 trials failed alike"
    assert find_violations() == []


def test_the_stop_is_told_at_once_with_the_reason_and_for_whom() -> None:
    worker_id = join().worker_id
    number = submit([worker_id], text=MANY)
    work({"xz": 1000}, rounds=12)
    (event,) = Event.objects.filter(kind="package stopped")
    assert event.detail.startswith(STOPPED)
    assert (event.experiment_id, event.package_sha256, event.user) == (number, digest("xz"), "ada")
    assert FleetExperiment.objects.get(pk=number).state == "running"
    third = Event.objects.filter(kind="attempt counted", package_sha256=digest("xz")).order_by("id")[2]
    assert event.id > third.id
    assert not Event.objects.filter(
        kind="attempt leased", package_sha256=digest("xz"), id__gt=event.id
    ).exists()


def test_a_package_that_fails_on_one_machine_alone_is_not_stopped() -> None:
    """The other machine may well be able to run it."""
    broken, sound = join().worker_id, join().worker_id
    submit([broken, sound], text=MANY)
    for _ in range(20):
        step(START_S)
        lease = list_leases().get(broken)
        if lease is None:
            break
        wrong = lease.spec.package.name == "xz"
        say(broken, tell_record(lease, fail_record(lease) if wrong else None))
    assert not Event.objects.filter(kind="package stopped").exists()
    assert PackageStanding.objects.get(package_sha256=digest("xz")).state == "failing"
    assert count_states("xz")["cancelled"] == 0


def test_a_package_that_fails_at_one_level_alone_is_not_stopped() -> None:
    worker_id = join().worker_id
    submit([worker_id], text=MANY)
    for _ in range(80):
        step(START_S)
        lease = list_leases().get(worker_id)
        if lease is None:
            break
        wrong = lease.spec.package.name == "xz" and lease.spec.levels["aslr"] == "on"
        say(worker_id, tell_record(lease, fail_record(lease) if wrong else None))
    assert count_states("xz") == {"counted": 18}
    assert not Event.objects.filter(kind="package stopped").exists()


def test_a_package_that_completed_a_trial_is_never_stopped() -> None:
    worker_id = join().worker_id
    submit([worker_id], text=MANY)
    seen = 0
    for _ in range(80):
        step(START_S)
        lease = list_leases().get(worker_id)
        if lease is None:
            break
        seen += lease.spec.package.name == "xz"
        wrong = lease.spec.package.name == "xz" and seen != 3
        say(worker_id, tell_record(lease, fail_record(lease) if wrong else None))
    assert count_states("xz") == {"counted": 18}


def test_failures_of_the_host_speak_against_no_package() -> None:
    worker_id = join().worker_id
    submit([worker_id], text=MANY, most_attempts=2)
    for _ in range(8):
        step(START_S)
        lease = list_leases()[worker_id]
        say(worker_id, tell_record(lease, fail_record(lease, "disk_full")))
    assert not PackageStanding.objects.exists()


def stop_with_one_under_way() -> tuple[int, str, Lease]:
    """Stop a package whose fourth trial is under way; return experiment, worker and lease."""
    one, two = join().worker_id, join().worker_id
    number = submit([one, two], text=MANY)
    step(START_S)
    for worker_id, lease in list_leases().items():
        say(worker_id, tell_record(lease, fail_record(lease)))
    step(START_S)
    leases = list_leases()
    assert {lease.spec.package.name for lease in leases.values()} == {"xz"}
    say(two, Taken(leases[two].attempt))
    say(one, tell_record(leases[one], fail_record(leases[one])))
    assert Event.objects.filter(kind="package stopped").exists()
    assert find_attempt(leases[two].attempt).trial.state == "leased"
    return number, two, leases[two]


def test_a_trial_under_way_when_its_package_is_stopped_is_not_leased_again() -> None:
    """Its attempt may yet be lost: then it is cancelled, not planned anew, and a late record is late."""
    number, worker_id, lease = stop_with_one_under_way()
    say(worker_id, GaveUp(lease.attempt, "the machine went down"))
    assert find_attempt(lease.attempt).trial.state == "cancelled"
    say(worker_id, tell_record(lease))
    assert find_attempt(lease.attempt).state == "late"
    work({})
    assert FleetExperiment.objects.get(pk=number).state == "completed"
    assert count_states("xz") == {"counted": 3, "cancelled": 33}
    assert find_violations() == []


def test_the_record_of_a_trial_under_way_when_its_package_is_stopped_counts() -> None:
    _, worker_id, lease = stop_with_one_under_way()
    say(worker_id, tell_record(lease))
    work({})
    assert count_states("xz") == {"counted": 4, "cancelled": 32}
    assert find_violations() == []


def test_a_lost_trial_of_a_stopped_package_is_cancelled_at_its_deadline() -> None:
    _, _, lease = stop_with_one_under_way()
    step(LATER_S)
    assert find_attempt(lease.attempt).state == "lost"
    assert find_attempt(lease.attempt).trial.state == "cancelled"


def test_all_packages_stopped_end_the_experiment_and_say_so() -> None:
    number = submit([join().worker_id], text=MANY)
    leased = work({"xz": 1000, "bzip2": 1000})
    assert set(leased) == {"xz", "bzip2"}
    assert sum(leased.values()) < 15
    stored = FleetExperiment.objects.get(pk=number)
    assert stored.state == "completed"
    assert stored.state_reason.startswith("packages ")
    assert stored.state_reason.endswith("were stopped: their first trials failed alike")


def test_nothing_of_a_large_package_is_leased_while_its_trials_are_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A step cancels some; until all are, the experiment waits, and it goes on by itself."""
    monkeypatch.setattr(standings, "MOST_CANCELLED", 2)
    worker_id = join().worker_id
    submit([worker_id], text=MANY)
    while not Event.objects.filter(kind="package stopped").exists():
        lease_trials(START_S)
        lease = list_leases()[worker_id]
        wrong = lease.spec.package.name == "xz"
        say(worker_id, tell_record(lease, fail_record(lease) if wrong else None))
    assert lease_trials(START_S) == 0
    while step(START_S) == 0.0:
        pass
    leased = work({})
    assert leased["xz"] == 0
    assert count_states("xz").keys() == {"counted", "cancelled"}
    assert count_states("bzip2") == {"counted": 18}
    assert find_violations() == []


def test_two_packages_of_one_content_are_not_stopped_for_each_other() -> None:
    """They may ask for different things, such as the network."""
    new = make_new([join().worker_id], text=MANY)
    packages = tuple(msgspec.structs.replace(item, sha256=digest("xz")) for item in new.head.packages)
    new = replace(new, head=msgspec.structs.replace(new.head, packages=packages))
    create_experiment(new, START_S)
    work({"xz": 1000, "bzip2": 1000})
    assert not Event.objects.filter(kind="package stopped").exists()
    assert count_states("xz") == {"counted": 36}


def test_a_package_that_completed_trials_before_an_upgrade_is_never_stopped() -> None:
    worker_id = join().worker_id
    submit([worker_id], text=MANY)
    assert work({}, rounds=6)["xz"] > 0
    try:
        call_command("migrate", "datamill", "0005_credentials", verbosity=0)
    finally:
        call_command("migrate", "datamill", verbosity=0)
    assert PackageStanding.objects.get(package_sha256=digest("xz")).state == "sound"
    work({"xz": 1000})
    assert count_states("xz") == {"counted": 18}
