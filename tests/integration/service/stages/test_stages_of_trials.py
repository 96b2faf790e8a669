"""Builds come before profiles, and profiles before the trials that measure the build on that machine."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import msgspec
import pytest
from integration.service.fleets import (
    START_S,
    TEXT,
    bring,
    digest,
    fail_record,
    find_attempt,
    join,
    list_leases,
    make_new,
    make_record,
    make_user,
    say,
    tell_record,
)

from datamill.design.fleet.profiles import check_profiles_can_come
from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.fleet import ArtifactFile, GaveUp, Lease
from datamill.protocol.trial import ArchiveFacts, TrialRecord
from datamill.service.coordinator.experiments.submission import NewExperiment, create_experiment
from datamill.service.coordinator.presence.members import GIVE_UP_AFTER_S, move_trials, remove_worker
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import Event, FleetExperiment, Trial

SHARED = TEXT.replace("seed = 7", 'seed = 7\nbuild = "shared"')


def plan_profiles(workers: list[str], *profiled: str, text: str = SHARED, **options: object) -> NewExperiment:
    """An experiment over workers whose named packages have a `profile.sh`; all, where none is named."""
    new = make_new(workers, text=text, profile=True, **options)  # type: ignore[arg-type]
    packages = tuple(
        msgspec.structs.replace(item, has_profile=not profiled or item.name in profiled)
        for item in new.head.packages
    )
    return replace(new, head=msgspec.structs.replace(new.head, packages=packages))


def submit_profiles(workers: list[str], *profiled: str, **options: object) -> int:
    return create_experiment(plan_profiles(workers, *profiled, **options), START_S)


def lease_round(now_s: float = START_S) -> dict[str, Lease]:
    step(now_s)
    return list_leases(now_s)


def make_build(worker_id: str, lease: Lease) -> None:
    """Have a worker make the build that it was asked for."""
    assert lease.task == "build"
    name = f"build {lease.attempt}"
    bring(worker_id, digest(name), 77)
    artifact = ArtifactFile("build.tar.gz", digest(name), 77)
    say(worker_id, tell_record(lease, make_record(lease, run=None, collect=None), (artifact,)))


def make_profile(worker_id: str, lease: Lease) -> None:
    """Have a worker make the profile that it was asked for."""
    assert lease.task == "profile"
    name = f"profile {lease.attempt}"
    bring(worker_id, digest(name), 55)
    artifact = ArtifactFile("callgrind.out", digest(name), 55)
    say(worker_id, tell_record(lease, make_profile_record(lease), (artifact,)))


def make_profile_record(lease: Lease) -> TrialRecord:
    return make_record(lease, collect=None, archive=ArchiveFacts("callgrind.out", 55, digest("profile")))


def make_what_is_asked(worker_id: str, lease: Lease) -> None:
    makers = {"build": make_build, "profile": make_profile}
    makers.get(lease.task, lambda worker_id, lease: say(worker_id, tell_record(lease)))(worker_id, lease)


def count_states(experiment: int, purpose: str) -> Counter[str]:
    return Counter(
        Trial.objects.filter(experiment=experiment, purpose=purpose).values_list("state", flat=True)
    )


@pytest.mark.usefixtures("database")
def test_each_machine_builds_then_profiles_then_measures_what_it_built() -> None:
    workers = [join().worker_id, join().worker_id]
    experiment = submit_profiles(workers)
    assert count_states(experiment, "build") == {"planned": 4}
    assert count_states(experiment, "profile") == {"waiting": 4}
    assert count_states(experiment, "design") == {"waiting": 16}
    order: dict[str, list[tuple[str, str]]] = {worker_id: [] for worker_id in workers}
    while leases := lease_round():
        for worker_id, lease in leases.items():
            package = lease.spec.package.name
            order[worker_id].append((lease.task, package))
            if lease.task != "build":
                (build,) = Trial.objects.filter(
                    purpose="build", worker=worker_id, package_sha256=digest(package), experiment=experiment
                )
                assert lease.prebuilt is not None
                assert lease.prebuilt.sha256 == digest(f"build {experiment}.{build.trial_id}.1")
            make_what_is_asked(worker_id, lease)
            assert find_violations() == []
    for made in order.values():
        for package in ("xz", "bzip2"):
            tasks = [task for task, name in made if name == package]
            assert tasks == ["build", "profile", *["trial"] * 4]
    assert FleetExperiment.objects.get(pk=experiment).state == "completed"


@pytest.mark.usefixtures("memory_database")
def test_a_build_of_the_strongest_worker_is_profiled_on_every_machine() -> None:
    strong, weak = join(cores=64).worker_id, join().worker_id
    submit_profiles([weak, strong], "xz", build_on="strongest")
    assert set(Trial.objects.filter(purpose="build").values_list("worker", flat=True)) == {strong}
    profiles = Trial.objects.filter(purpose="profile")
    assert {(row.worker_id, row.package_sha256, row.needs.package_sha256) for row in profiles} == {
        (worker_id, digest("xz"), digest("xz")) for worker_id in (strong, weak)
    }
    others = Trial.objects.filter(purpose="design", package_sha256=digest("bzip2"))
    assert {row.needs.purpose for row in others} == {"build"}


@pytest.mark.usefixtures("memory_database")
def test_the_profile_script_has_its_own_limit() -> None:
    text = f'{SHARED}\n[limits]\nprofile_timeout = "2 h"\nrun_timeout = "5 s"\n'
    worker_id = join().worker_id
    submit_profiles([worker_id], text=text, trials=1)
    make_build(worker_id, lease_round()[worker_id])
    profile = lease_round()[worker_id]
    assert (profile.task, profile.spec.limits.run_timeout_s) == ("profile", 7200.0)
    assert profile.expected_s > 7200.0
    make_profile(worker_id, profile)
    assert lease_round()[worker_id].spec.limits.run_timeout_s == 5.0


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize("stage", ["build", "profile"])
@pytest.mark.parametrize("outcome", ["failed", "lost"])
def test_what_needs_a_stage_that_never_comes_is_given_up_with_the_reason(stage: str, outcome: str) -> None:
    worker_id = join().worker_id
    experiment = submit_profiles([worker_id], "xz", most_attempts=1)
    while leases := lease_round():
        lease = leases[worker_id]
        if lease.task != stage or lease.spec.package.name != "xz":
            make_what_is_asked(worker_id, lease)
        elif outcome == "failed":
            say(worker_id, tell_record(lease, fail_record(lease)))
        else:
            say(worker_id, GaveUp(lease.attempt, "the power went"))
        assert find_violations() == []
    measured = Trial.objects.filter(experiment=experiment, purpose="design")
    assert {row.state for row in measured.filter(package_sha256=digest("xz"))} == {"given_up"}
    assert {row.state for row in measured.filter(package_sha256=digest("bzip2"))} == {"counted"}
    assert FleetExperiment.objects.get(pk=experiment).state == "completed"
    (told,) = Event.objects.filter(kind="profile missing")
    assert told.detail.startswith(
        "profile00001 gave no profile, and the 4 trials that need it are given up: "
    )
    assert ("it went wrong" if outcome == "failed" else "the power went") in told.detail
    assert not Trial.objects.filter(state__in=["waiting", "planned"]).exists()


@pytest.mark.usefixtures("memory_database")
def test_a_lost_profile_is_made_again_before_anything_is_measured() -> None:
    worker_id = join().worker_id
    submit_profiles([worker_id], trials=1)
    make_build(worker_id, lease_round()[worker_id])
    lost = lease_round()[worker_id]
    say(worker_id, GaveUp(lost.attempt, "the power went"))
    again = lease_round()[worker_id]
    assert (again.task, again.spec.trial_id, again.spec.attempt) == ("profile", lost.spec.trial_id, 2)
    make_profile(worker_id, again)
    assert lease_round()[worker_id].task == "trial"


@pytest.mark.usefixtures("memory_database")
def test_trials_of_a_machine_that_is_gone_end_when_its_build_never_comes() -> None:
    experiment = submit_profiles([join("gone").worker_id])
    remove_worker("gone", make_user(), START_S)
    move_trials(START_S + GIVE_UP_AFTER_S)
    step(START_S + GIVE_UP_AFTER_S)
    assert find_violations() == []
    assert set(Trial.objects.values_list("state", flat=True)) == {"given_up"}
    assert FleetExperiment.objects.get(pk=experiment).state == "completed"


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"archive": None}, "its record is of a completed profile and names no file"),
        ({"run": None}, "its record is of a completed trial and lacks the phase run"),
    ],
)
def test_a_profile_without_its_file_or_its_script_is_faulty(changes: dict[str, None], fault: str) -> None:
    worker_id = join().worker_id
    submit_profiles([worker_id], trials=1)
    make_build(worker_id, lease_round()[worker_id])
    lease = lease_round()[worker_id]
    record = msgspec.structs.replace(make_profile_record(lease), **changes)
    say(worker_id, tell_record(lease, record))
    assert find_attempt(lease.attempt).reason == fault


@pytest.mark.parametrize(
    ("text", "profiled", "cause"),
    [
        (SHARED, (), "no package has a profile.sh"),
        (TEXT, ("xz",), "each trial has its own"),
    ],
)
def test_profiles_that_nothing_could_make_are_refused(
    text: str, profiled: tuple[str, ...], cause: str
) -> None:
    experiment = parse_experiment(f"{text}\n[fleet]\nprofile = true\n", name="e.toml")
    with pytest.raises(InputError, match=cause):
        check_profiles_can_come(experiment, profiled, where="e.toml")
