"""Experiments: debug trials first, builds that others need, holding, releasing, cancelling."""

from __future__ import annotations

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
    make_head,
    make_new,
    make_plan,
    make_record,
    make_user,
    say,
    submit,
    tell_record,
)

from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.fleet import ArtifactFile, Lease, Output, Taken
from datamill.protocol.trial import TrialRecord
from datamill.service.coordinator.experiments import experiments
from datamill.service.coordinator.experiments.experiments import (
    cancel_experiment,
    drop_unfinished_entries,
    release_experiment,
)
from datamill.service.coordinator.experiments.submission import Entry, NewExperiment, create_experiment
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import Event, FleetExperiment, FleetWorker, OutputPiece, Quarantine, Trial

ADA = "ada"


def count_states(experiment: int) -> dict[str, int]:
    states = Trial.objects.filter(experiment=experiment).values_list("state", flat=True)
    return {state: list(states).count(state) for state in set(states)}


def lease_round(now_s: float = START_S) -> dict[str, Lease]:
    step(now_s)
    return list_leases(now_s)


def run_debug(*, failing: str = "", now_s: float = START_S) -> list[Lease]:
    """Answer every debug trial, those of one package with a failure; return what was leased."""
    seen = []
    while leases := {worker: lease for worker, lease in lease_round(now_s).items() if lease.live_output}:
        for worker_id, lease in leases.items():
            record = fail_record(lease) if lease.spec.package.name == failing else make_record(lease)
            say(worker_id, tell_record(lease, record), now_s)
            seen.append(lease)
    return seen


@pytest.mark.usefixtures("database")
def test_one_debug_trial_of_each_package_on_each_architecture_goes_first() -> None:
    workers = [join().worker_id, join().worker_id, join(arch="aarch64").worker_id]
    experiment = submit(workers, debug="first")
    assert FleetExperiment.objects.get().state == "debugging"
    assert count_states(experiment) == {"planned": 4, "waiting": 24}
    first = lease_round()
    assert len(first) == 2
    assert all(lease.live_output and not lease.reboot for lease in first.values())
    for worker_id, lease in first.items():
        say(worker_id, tell_record(lease))
    rest = run_debug()
    ran = {
        (find_attempt(lease.attempt).worker_id, lease.spec.package.name) for lease in [*first.values(), *rest]
    }
    assert ran == {(worker, package) for worker in (workers[0], workers[2]) for package in ("xz", "bzip2")}
    stored = FleetExperiment.objects.get()
    assert (stored.state, stored.state_reason) == ("running", "its 4 debug trials completed")
    assert Trial.objects.filter(purpose="design", state="leased").count() == 3
    assert find_violations() == []


@pytest.mark.usefixtures("database")
def test_a_debug_trial_that_fails_holds_the_design_until_a_person_releases_it() -> None:
    worker_id = join().worker_id
    experiment = submit([worker_id], debug="first")
    run_debug(failing="bzip2")
    stored = FleetExperiment.objects.get()
    assert (stored.state, stored.state_reason) == ("held", "1 of 2 debug trials did not complete")
    assert count_states(experiment) == {"counted": 2, "waiting": 8}
    release_experiment(experiment, make_user(ADA), START_S)
    assert FleetExperiment.objects.get().state == "running"
    assert count_states(experiment) == {"counted": 2, "planned": 8}
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
def test_hold_lets_a_design_wait_though_its_debug_trials_went_well() -> None:
    worker_id = join().worker_id
    experiment = submit([worker_id], debug="first", hold=True)
    run_debug()
    assert FleetExperiment.objects.get().state == "held"
    release_experiment(experiment, make_user(ADA), START_S)
    assert lease_round()[worker_id].live_output is False


@pytest.mark.usefixtures("memory_database")
def test_hold_without_debug_trials_waits_from_the_start() -> None:
    worker_id = join().worker_id
    experiment = submit([worker_id], hold=True)
    assert lease_round() == {}
    release_experiment(experiment, make_user(ADA), START_S)
    assert len(lease_round()) == 1


@pytest.mark.usefixtures("memory_database")
def test_an_experiment_of_debug_trials_alone_ends_with_them() -> None:
    worker_id = join().worker_id
    experiment = submit([worker_id], debug="only")
    run_debug(failing="bzip2")
    assert FleetExperiment.objects.get().state == "completed"
    assert count_states(experiment) == {"counted": 2}


@pytest.mark.usefixtures("memory_database")
def test_releasing_before_the_debug_trials_end_drops_those_not_begun() -> None:
    worker_id = join().worker_id
    experiment = submit([worker_id], debug="first")
    lease = lease_round()[worker_id]
    release_experiment(experiment, make_user(ADA), START_S)
    assert count_states(experiment) == {"leased": 1, "cancelled": 1, "planned": 8}
    say(worker_id, tell_record(lease))
    assert lease_round()[worker_id].live_output is False
    assert find_violations() == []


@pytest.mark.usefixtures("database")
def test_output_of_debug_trials_is_kept_once_and_of_others_not_at_all() -> None:
    worker_id = join().worker_id
    submit([worker_id], debug="first")
    lease = lease_round()[worker_id]
    for number, text in [(0, "a"), (1, "b\x00"), (0, "again"), (1 << 40, "far")]:
        say(worker_id, Output(lease.attempt, "setup", number, text))
    assert list(OutputPiece.objects.order_by("number").values_list("text", flat=True)) == [
        "a",
        "b\N{REPLACEMENT CHARACTER}",
    ]
    run_debug()
    say(worker_id, tell_record(lease))
    run_debug()
    design = list_leases() or lease_round()
    other = Trial.objects.get(state="leased")
    say(worker_id, Output(f"{other.experiment_id}.{other.trial_id}.1", "setup", 0, "no"))
    assert OutputPiece.objects.count() == 2
    assert not any(lease.live_output for lease in design.values())


@pytest.mark.usefixtures("database")
def test_cancelling_ends_what_was_not_begun_and_keeps_what_comes_late() -> None:
    workers = [join().worker_id, join().worker_id]
    experiment = submit(workers)
    leases = lease_round()
    say(workers[0], Taken(leases[workers[0]].attempt))
    cancel_experiment(experiment, make_user(ADA), START_S)
    assert FleetExperiment.objects.get().state == "cancelled"
    assert count_states(experiment) == {"cancelled": 16}
    assert find_attempt(leases[workers[1]].attempt).state == "cancelled"
    assert FleetWorker.objects.get(pk=workers[1]).state == "idle"
    assert FleetWorker.objects.get(pk=workers[0]).state == "busy"
    assert find_violations() == []
    for worker_id in workers:
        say(worker_id, tell_record(leases[worker_id]))
    assert {find_attempt(lease.attempt).state for lease in leases.values()} == {"late"}
    assert {worker.state for worker in FleetWorker.objects.all()} == {"idle"}
    assert lease_round() == {}
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
def test_only_owners_and_administrators_cancel_and_release() -> None:
    experiment = submit([join().worker_id], hold=True)
    with pytest.raises(InputError, match=f"there is no experiment {experiment}"):
        cancel_experiment(experiment, make_user("eve"), START_S)
    FleetExperiment.objects.update(public=True)
    with pytest.raises(InputError, match="another user's"):
        release_experiment(experiment, make_user("eve"), START_S)
    with pytest.raises(InputError, match="there is no experiment 99"):
        cancel_experiment(99, make_user(ADA), START_S)
    release_experiment(experiment, make_user("root", staff=True), START_S)
    with pytest.raises(InputError, match="is not held"):
        release_experiment(experiment, make_user(ADA), START_S)
    cancel_experiment(experiment, make_user(ADA), START_S)
    with pytest.raises(InputError, match="has ended"):
        cancel_experiment(experiment, make_user(ADA), START_S)
    assert Event.objects.get(kind="experiment released").user == "root"


@pytest.mark.usefixtures("memory_database")
def test_a_large_design_is_released_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "MOST_RELEASED", 3)
    worker_id = join().worker_id
    experiment = submit([worker_id], hold=True)
    release_experiment(experiment, make_user(ADA), START_S)
    assert count_states(experiment) == {"planned": 3, "waiting": 5}
    assert step(START_S) == 0.0
    while step(START_S) == 0.0:
        pass
    assert count_states(experiment) == {"leased": 1, "planned": 7}


@pytest.mark.usefixtures("database")
def test_a_large_experiment_is_cancelled_in_parts_and_none_of_it_is_leased_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(experiments, "MOST_RELEASED", 3)
    workers = [join().worker_id, join().worker_id]
    before, large, after = submit(workers, trials=1), submit(workers), submit(workers)
    lease = lease_round()[workers[0]]
    assert lease.attempt.startswith(f"{before}.")
    cancel_experiment(large, make_user(ADA), START_S)
    assert count_states(large) == {"cancelled": 4, "planned": 12}
    assert find_violations() == []
    say(workers[0], tell_record(lease))
    for left in (9, 6, 3):
        assert step(START_S) == 0.0
        assert count_states(large) == {"cancelled": 16 - left, "planned": left}
        assert find_violations() == []
    while step(START_S) == 0.0:
        pass
    assert count_states(large) == {"cancelled": 16}
    assert {lease.attempt.split(".")[0] for lease in list_leases().values()} == {str(after)}
    assert not FleetExperiment.objects.get(pk=large).releasing


@pytest.mark.usefixtures("memory_database")
def test_a_record_that_comes_while_its_experiment_is_being_cancelled_is_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(experiments, "MOST_RELEASED", 0)
    worker_id = join().worker_id
    experiment = submit([worker_id])
    lease = lease_round()[worker_id]
    deadline_s = find_attempt(lease.attempt).deadline_unix_s + 1
    step(deadline_s)
    assert find_attempt(lease.attempt).state == "lost"
    cancel_experiment(experiment, make_user(ADA), deadline_s)
    assert find_attempt(lease.attempt).trial.state == "planned"
    say(worker_id, tell_record(lease), deadline_s)
    assert find_attempt(lease.attempt).state == "late"
    assert find_violations() == []


def make_build_record(lease: Lease) -> TrialRecord:
    return make_record(lease, run=None, collect=None)


@pytest.mark.usefixtures("database")
def test_builds_made_on_the_strongest_worker_are_shipped_to_the_others() -> None:
    strong = join(cores=64).worker_id
    weak = [join().worker_id, join().worker_id]
    text = TEXT.replace("seed = 7", 'seed = 7\nbuild = "shared"')
    experiment = submit([*weak, strong], text=text, build_on="strongest")
    builds = Trial.objects.filter(purpose="build")
    assert builds.count() == 2
    assert count_states(experiment) == {"planned": 2, "waiting": 24}
    built = Trial.objects.filter(purpose="design").values_list("package_sha256", "needs__package_sha256")
    assert all(own == build for own, build in built)
    leases: dict[str, Lease] = {}
    for package in ("xz", "bzip2"):
        leases |= lease_round()
        lease = leases[strong]
        assert lease.task == "build"
        assert lease.spec.package.name == package
        bring(strong, digest(f"build of {package}"), 77)
        artifact = ArtifactFile("build.tar.gz", digest(f"build of {package}"), 77)
        say(strong, tell_record(lease, make_build_record(lease), (artifact,)))
        assert Trial.objects.filter(state="planned", purpose="design").exists()
        assert find_violations() == []
    trial = leases[weak[1]]
    name = trial.spec.package.name
    assert trial.task == "trial"
    assert trial.prebuilt is not None
    assert (trial.prebuilt.sha256, trial.prebuilt.bytes) == (digest(f"build of {name}"), 77)
    assert trial.prebuilt in trial.files


@pytest.mark.usefixtures("memory_database")
def test_a_build_without_its_file_is_faulty() -> None:
    worker_id = join().worker_id
    submit([worker_id], build_on="strongest", trials=1)
    lease = lease_round()[worker_id]
    say(worker_id, tell_record(lease, make_build_record(lease)))
    assert find_attempt(lease.attempt).reason == "it is of a build and brings no build.tar.gz"


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize("outcome", ["failed", "given up"])
def test_trials_build_where_they_run_when_the_build_is_not_to_be_had(outcome: str) -> None:
    worker_id = join().worker_id
    submit([worker_id], build_on="strongest", trials=1, most_attempts=1)
    lease = lease_round()[worker_id]
    kind = "exit_status" if outcome == "failed" else "internal"
    say(worker_id, tell_record(lease, fail_record(lease, kind, "setup")))
    trial = lease_round()[worker_id]
    assert trial.task == "trial"
    assert trial.prebuilt is None
    assert Event.objects.filter(kind="build missing").count() == 1
    assert find_violations() == []


@pytest.mark.usefixtures("memory_database")
def test_reboots_are_before_each_trial_or_each_block_or_never() -> None:
    worker_id = join().worker_id
    flags = {}
    for policy in ("trial", "block", "never"):
        experiment = submit([worker_id], reboot=policy, block_trials=3)
        trials = Trial.objects.filter(experiment=experiment).order_by("position")
        flags[policy] = "".join("r" if trial.reboot else "." for trial in trials)
    assert flags == {"trial": "rrrrrrrr", "block": "r..r..r.", "never": "........"}


@pytest.mark.usefixtures("memory_database")
def test_an_experiment_on_a_package_in_quarantine_is_not_taken() -> None:
    worker_id = join().worker_id
    Quarantine.objects.create(sha256=digest("xz"), reason="3 attempts were lost", since_unix_s=START_S)
    with pytest.raises(InputError, match="package xz is in quarantine: 3 attempts were lost"):
        submit([worker_id])
    assert not FleetExperiment.objects.exists()


@pytest.mark.usefixtures("memory_database")
def test_a_plan_with_a_worker_that_left_is_not_taken() -> None:
    worker = join()
    asked = parse_experiment(TEXT, name="experiment.toml")
    plan = make_plan(asked, [worker.worker_id])
    gone = replace(plan, chosen=(*plan.chosen, replace(plan.chosen[0], worker_id="wgone", name="gone")))
    with pytest.raises(InputError, match="gone left the fleet"):
        create_experiment(NewExperiment(make_user(), TEXT, asked, make_head(asked), gone, False), START_S)


@pytest.mark.usefixtures("memory_database")
def test_the_older_experiment_goes_first_on_a_worker() -> None:
    worker_id = join().worker_id
    first = submit([worker_id], trials=1)
    second = submit([worker_id], trials=1)
    for experiment in (first, second):
        lease = lease_round()[worker_id]
        assert lease.attempt.startswith(f"{experiment}.")
        say(worker_id, tell_record(lease))


@pytest.mark.usefixtures("memory_database")
def test_a_stored_design_has_everything_but_its_trials() -> None:
    experiment = submit([join("lab").worker_id])
    stored = msgspec.json.decode(bytes(FleetExperiment.objects.get(pk=experiment).design))
    assert stored["trials"] == []
    assert [factor["name"] for factor in stored["factors"]] == ["package", "aslr", "machine"]


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("debug", ["never", "first"])
def test_a_large_experiment_is_entered_in_pieces_and_nothing_of_it_is_leased_before(
    monkeypatch: pytest.MonkeyPatch, debug: str
) -> None:
    monkeypatch.setattr("datamill.service.coordinator.experiments.submission.TRIALS_AT_ONCE", 3)
    entry = Entry(make_new([join().worker_id], debug=debug), START_S)
    number = entry.begin()
    with pytest.raises(InputError, match="are being entered"):
        release_experiment(number, make_user(), START_S)
    steps = 1
    while entry.add_trials():
        steps += 1
        step(START_S)
        assert list_leases() == {}
        assert find_violations() == []
    assert steps == 3
    entry.finish()
    for _ in range(5):
        step(START_S)
    assert find_violations() == []
    assert len(list_leases()) == 1
    assert Trial.objects.filter(experiment_id=number, purpose="design").count() == 8
    state = FleetExperiment.objects.get(pk=number).state
    assert state == ("running" if debug == "never" else "debugging")


@pytest.mark.usefixtures("database")
def test_an_experiment_that_was_cancelled_while_it_was_entered_stays_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("datamill.service.coordinator.experiments.submission.TRIALS_AT_ONCE", 3)
    entry = Entry(make_new([join().worker_id]), START_S)
    number = entry.begin()
    assert entry.add_trials()
    cancel_experiment(number, make_user(), START_S)
    with pytest.raises(InputError, match="was ended while its trials were entered"):
        entry.add_trials()
    entry.drop()
    step(START_S)
    assert FleetExperiment.objects.get(pk=number).state == "cancelled"
    assert find_violations() == []


@pytest.mark.usefixtures("database")
def test_what_a_coordinator_that_ended_did_not_enter_whole_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("datamill.service.coordinator.experiments.submission.TRIALS_AT_ONCE", 3)
    whole = submit([join().worker_id])
    entry = Entry(make_new([join().worker_id]), START_S)
    number = entry.begin()
    entry.add_trials()
    assert drop_unfinished_entries(START_S) == 1
    assert drop_unfinished_entries(START_S) == 0
    step(START_S)
    stored = FleetExperiment.objects.get(pk=number)
    assert (stored.state, stored.state_reason) == (
        "cancelled",
        "the coordinator ended before all its trials were entered",
    )
    assert FleetExperiment.objects.get(pk=whole).state == "running"
    assert find_violations() == []
