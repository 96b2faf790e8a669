"""Nothing is leased that needs a file in quarantine, in whatever order things happen."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from integration.service.fleets import (
    START_S,
    digest,
    join,
    list_leases,
    make_head,
    make_plan,
    make_user,
    say,
    submit,
    tell_record,
)

from datamill.design.fleet.fleet_records import FleetPlan
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import FleetChoice
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.fleet import GaveUp, Lease, Taken
from datamill.results.bundles.bundle_head import BundleFactor, BundleHead, BundlePackage
from datamill.service.coordinator.experiments.dispatch import lease_trials
from datamill.service.coordinator.experiments.experiments import (
    cancel_experiment,
    hold_experiment,
    release_experiment,
)
from datamill.service.coordinator.experiments.submission import NewExperiment, create_experiment
from datamill.service.coordinator.presence.health import judge_packages, lift_quarantine
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import FleetExperiment, Quarantine, Trial

TEXT = """
[experiment]
name = "xz-alone"
replicates = 2

[[package]]
name = "xz"
path = "xz"

[[load]]
name = "hog"
path = "hog"

[factors]
aslr = ["on", "off"]
background_load = ["none", "hog"]
"""


def put_apart(name: str) -> None:
    Quarantine.objects.create(sha256=digest(name), reason="3 attempts were lost", since_unix_s=START_S)


def lease_round(now_s: float = START_S) -> dict[str, Lease]:
    step(now_s)
    return list_leases(now_s)


def submit_with(workers: list[str], *, load: str = "", factor: str = "") -> int:
    """Submit an experiment of one package on a worker, beside a load or with a factor of its own."""
    asked = parse_experiment(TEXT, name="experiment.toml")
    asked = replace(asked, fleet=FleetChoice(debug="never", reboot="never"))
    plan, head = make_plan(asked, workers), make_head(asked)
    if load:
        plan = add_level(plan, "background_load", load)
        head = msgspec.structs.replace(
            head, loads=(BundlePackage(load, f"loads/{load}.tar.gz", digest(load), 10, 1, False),)
        )
    if factor:
        plan = add_level(plan, factor, "on")
        head = add_factor(head, factor)
    return create_experiment(NewExperiment(make_user(), TEXT, asked, head, plan, False), START_S)


def add_level(plan: FleetPlan, name: str, level: str) -> FleetPlan:
    trials = tuple(
        replace(trial, levels={**trial.levels, name: level if trial.order % 2 == 0 else "none"})
        for trial in plan.design.trials
    )
    return replace(plan, design=replace(plan.design, trials=trials))


def add_factor(head: BundleHead, name: str) -> BundleHead:
    return msgspec.structs.replace(
        head, factors=(BundleFactor(name, f"factors/{name}.tar.gz", digest(name), 10, "a factor"),)
    )


@pytest.mark.usefixtures("database")
def test_an_experiment_is_not_released_whose_package_in_quarantine_is_under_way() -> None:
    worker_id = join().worker_id
    experiment = submit([worker_id], most_attempts=9, text=TEXT_OF_ONE, trials=1)
    lease = lease_round()[worker_id]
    say(worker_id, Taken(lease.attempt))
    put_apart("xz")
    hold_experiment(FleetExperiment.objects.get(), "a package is in quarantine", START_S)
    with pytest.raises(InputError, match="in quarantine: 3 attempts were lost"):
        release_experiment(experiment, make_user(), START_S)
    say(worker_id, GaveUp(lease.attempt, "the machine went down"))
    assert lease_round() == {}
    assert find_violations() == []
    lift_quarantine(digest("xz"), make_user("root", staff=True), START_S)
    release_experiment(experiment, make_user(), START_S)
    assert len(lease_round()) == 1


TEXT_OF_ONE = TEXT[: TEXT.index("[[load]]")] + '[factors]\naslr = ["on", "off"]\n'


@pytest.mark.usefixtures("database")
def test_a_package_in_quarantine_is_not_leased_whatever_state_its_trials_are_in() -> None:
    worker_id = join().worker_id
    submit([worker_id], text=TEXT_OF_ONE)
    other = submit([worker_id], trials=8)
    Trial.objects.filter(experiment=other, package_sha256=digest("xz")).delete()
    put_apart("xz")
    # Nothing held the experiment: the decision to lease does, and goes on with the next one.
    lease = lease_round()[worker_id]
    assert lease.attempt.startswith(f"{other}.")
    first = FleetExperiment.objects.order_by("pk")[0]
    assert (first.state, first.state_reason) == (
        "held",
        f"package {digest('xz')[:12]} is in quarantine: 3 attempts were lost",
    )
    assert not Trial.objects.filter(experiment=first, state="planned").exists()
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize(("load", "factor"), [("hog", ""), ("", "pages")])
def test_a_load_or_factor_in_quarantine_is_not_leased(load: str, factor: str) -> None:
    worker_id = join().worker_id
    experiment = submit_with([worker_id], load=load, factor=factor)
    put_apart(load or factor)
    while leases := lease_round():
        # A trial may go that does without the load.
        lease = leases[worker_id]
        assert digest(load or factor) not in {need.sha256 for need in lease.files}
        say(worker_id, tell_record(lease))
    assert FleetExperiment.objects.get().state == "held"
    with pytest.raises(InputError, match="in quarantine"):
        release_experiment(experiment, make_user(), START_S)


@pytest.mark.usefixtures("memory_database")
def test_a_factor_in_quarantine_is_not_submitted() -> None:
    worker_id = join().worker_id
    put_apart("pages")
    with pytest.raises(InputError, match="package pages is in quarantine"):
        submit_with([worker_id], factor="pages")


@pytest.mark.usefixtures("memory_database")
def test_a_package_that_others_run_as_a_load_is_put_apart_there_too() -> None:
    workers = [join().worker_id, join().worker_id]
    submit(workers, most_attempts=9, text=TEXT_OF_ONE.replace("xz", "bzip2"))
    beside = submit_with(workers, load="bzip2")
    for _ in range(2):
        for worker_id, lease in lease_round().items():
            assert lease.spec.package.name == "bzip2"
            say(worker_id, GaveUp(lease.attempt, "the machine went down"))
    judge_packages(START_S)
    assert FleetExperiment.objects.get(pk=beside).state == "held"
    assert lease_trials(START_S) == 0


@pytest.mark.usefixtures("memory_database")
def test_a_quarantine_holds_no_experiment_that_was_cancelled() -> None:
    worker_id = join().worker_id
    experiment = submit([worker_id], text=TEXT_OF_ONE)
    cancel_experiment(experiment, make_user(), START_S)
    put_apart("xz")
    assert lease_round() == {}
    assert FleetExperiment.objects.get().state == "cancelled"
