"""A fleet whose worker makes trials in guests: from the experiment file to the record, over a real broker."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from acceptance.conftest import Command, assert_refused
from acceptance.fleet.fleets import LocalFleet, find_bundle
from integration.hostile.packages.guest_trials import make_guest_host

from datamill.guests import GuestUnavailableError
from datamill.guests.emulator import find_emulator
from datamill.results.bundles.opening import open_bundle
from datamill.results.judgement.validity import count_trials_once

EXPERIMENT = """
[experiment]
name = "strangers"
question = "Does always having huge pages help?"
replicates = 1
seed = 3
isolation = "guest"

[[package]]
name = "a"
path = "a"

[factors]
transparent_huge_pages = ["always", "never"]

[fleet]
reboot = "never"
debug = "never"
"""
PROFILED = EXPERIMENT.replace("seed = 3", 'seed = 3\nbuild = "shared"') + "profile = true\n"
#: The profile tells which build was profiled, and in which boot.
PROFILE = """#!/bin/sh
cat booted >profile.txt
cat /proc/sys/kernel/random/boot_id >>profile.txt
echo profile.txt
"""
#: What only this machine has, and a guest never shows.
SETUP = "#!/bin/sh\ncat /proc/sys/kernel/random/boot_id >booted\n"
RUN = """#!/bin/sh
cat booted
ls -d {state} 2>/dev/null
cat /sys/kernel/mm/transparent_hugepage/enabled
"""


@pytest.fixture
def fleet(datamill: Command) -> Iterator[LocalFleet]:
    """A coordinator, a worker that has the image of a guest, and one that has none."""
    try:
        find_emulator(os.uname().machine)
        make_guest_host(datamill.folder / "able", "")
    except GuestUnavailableError as error:
        pytest.skip(f"no guests here: {error}")
    started = LocalFleet(datamill)
    try:
        for name in ("able", "unable"):
            # Each plays a machine of its own.
            datamill.environment["DATAMILL_STATE_DIR"] = str(datamill.folder / name)
            started.join(name)
        yield started
    finally:
        started.stop()


# Some five boots: the look at what guests offer, the build, and two trials.
def test_a_trial_in_a_guest_goes_from_a_file_over_a_fleet_to_its_record(
    fleet: LocalFleet, datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    state = datamill.folder / "able"
    make_experiment(text=EXPERIMENT, packages=("a",), setup=SETUP, run=RUN.format(state=state))
    assert has_guests(fleet, "able")
    assert not has_guests(fleet, "unable")

    submitted = datamill("submit", ".", "--yes")
    assert submitted.returncode == 0, submitted.stdout + submitted.stderr
    watched = datamill("watch", "1", timeout_s=600)
    assert watched.returncode == 0, watched.stdout + watched.stderr + fleet.read("able")
    assert "completed: 2 of 2 trials counted" in watched.stdout
    fetched = datamill("fetch", "1")
    assert fetched.returncode == 0, fetched.stdout + fetched.stderr

    folder = find_bundle(datamill.folder, 1)
    bundle = open_bundle(folder)
    records = bundle.read_records()
    assert len(count_trials_once(records).counted) == 2
    own = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    for record in records:
        assert record.outcome == "completed", record.failure
        assert record.isolation.kind == "guest"
        assert record.isolation.guest is not None
        assert record.isolation.guest.accelerator in ("kvm", "tcg")
        assert record.worker.id == "able"
        told = (folder / "artifacts" / f"{record.trial_id}.{record.attempt}" / "run.out").read_text()
        boot, setting = told.splitlines()
        assert boot != own, "it ran on this machine's kernel"
        assert f"[{record.levels['transparent_huge_pages']}]" in setting
    assert {record.levels["transparent_huge_pages"] for record in records} == {"always", "never"}


# Some five boots: the look at what guests offer, the build, its profile, and two trials.
def test_a_build_made_in_a_guest_is_profiled_in_another_before_others_measure_it(
    fleet: LocalFleet, datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    run = "#!/bin/sh\ncat booted /proc/sys/kernel/random/boot_id\n"
    make_experiment(text=PROFILED, packages=("a",), setup=SETUP, run=run, profile=PROFILE)
    submitted = datamill("submit", ".", "--yes")
    assert submitted.returncode == 0, submitted.stdout + submitted.stderr
    watched = datamill("watch", "1", timeout_s=600)
    assert watched.returncode == 0, watched.stdout + watched.stderr + fleet.read("able")
    fetched = datamill("fetch", "1")
    assert fetched.returncode == 0, fetched.stdout + fetched.stderr

    folder = find_bundle(datamill.folder, 1)
    (profile,) = json.loads((folder / "profiles.json").read_text())
    assert profile["machine"] == "able"
    built_in, profiled_in = (folder / profile["file"]).read_text().splitlines()
    records = open_bundle(folder).read_records()
    measured_in = []
    for record in records:
        assert record.isolation.kind == "guest"
        told = (folder / "artifacts" / f"{record.trial_id}.{record.attempt}" / "run.out").read_text()
        boot, own = told.splitlines()
        assert boot == built_in, "all measured the build that was profiled"
        measured_in.append(own)
    assert set(profile["trials"]) == {record.trial_id for record in records}
    assert len({built_in, profiled_in, *measured_in}) == 4, "each had a guest of its own"
    stages = [json.loads(line) for line in (folder / "debug.jsonl").read_text().splitlines()]
    assert [stage["purpose"] for stage in stages] == ["build", "profile"]
    assert {stage["record"]["isolation"]["kind"] for stage in stages} == {"guest"}
    guests = [stage["record"]["isolation"]["guest"] for stage in stages]
    assert guests[0] is not None, "a build says in which guest it was made"
    assert guests[0] == guests[1]
    assert stages[1]["record"]["run"]["started_unix_ns"] < min(
        record.run.started_unix_ns for record in records if record.run is not None
    )


def test_a_fleet_without_guests_says_why_it_cannot(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    started = LocalFleet(datamill)
    try:
        started.join("unable")
        make_experiment(text=EXPERIMENT, packages=("a",), setup=SETUP, run=RUN)
        assert_refused(datamill("submit", ".", "--yes"), "unable", "guest")
    finally:
        started.stop()


def has_guests(fleet: LocalFleet, name: str) -> bool:
    """Return whether the coordinator knows of guests that work on a worker."""
    return bool(fleet.ask(f"/workers/{name}")["inventory"]["guest"]["accelerator"])
