"""The queue, lists of trials and bundles say what waits for which stage, and what came of it."""

from __future__ import annotations

import pytest
from django.test import Client
from integration.service.api_users import ApiUser
from integration.service.fleets import START_S, fail_record, join, make_user, say, tell_record
from integration.service.stages.test_stages_of_trials import (
    lease_round,
    make_build,
    make_what_is_asked,
    submit_profiles,
)

from datamill.cli.fleet.queue import tabulate_stages
from datamill.protocol.api.fleet.stages import StageLine
from datamill.service.bundles.profiles import list_profiles
from datamill.service.models import FleetExperiment, Trial
from datamill.service.progress import count_progress
from datamill.service.queue.queue_state import describe_queue
from datamill.service.queue.stages import explain_failed_needs, explain_needs


def read_stages(experiment: int) -> list[tuple[str, int, int, int, str]]:
    """Stage, done, ready, waiting, and what these wait for."""
    stored = FleetExperiment.objects.get(pk=experiment)
    (queued,) = describe_queue(make_user(), START_S).experiments
    assert queued.stages == count_progress(stored, START_S).stages
    return [(line.stage, line.done, line.ready, line.waiting, line.waits_for) for line in queued.stages]


@pytest.mark.usefixtures("memory_database")
def test_the_queue_says_which_stage_waits_for_which() -> None:
    worker_id = join().worker_id
    experiment = submit_profiles([worker_id], "xz", trials=2)
    assert read_stages(experiment) == [
        ("build", 0, 1, 0, ""),
        ("profile", 0, 0, 1, "build"),
        ("measure", 0, 0, 2, "profile"),
    ]
    make_build(worker_id, lease_round()[worker_id])
    assert read_stages(experiment) == [
        ("build", 1, 0, 0, ""),
        ("profile", 0, 1, 0, ""),
        ("measure", 0, 0, 2, "profile"),
    ]
    make_what_is_asked(worker_id, lease_round()[worker_id])
    assert read_stages(experiment)[2] == ("measure", 0, 2, 0, "")


@pytest.mark.usefixtures("memory_database")
def test_each_trial_says_what_it_waits_for_and_why_it_is_not_run() -> None:
    worker_id = join().worker_id
    experiment = submit_profiles([worker_id], "xz", trials=1)
    trials = list(Trial.objects.filter(experiment=experiment).order_by("position"))
    told = {trial.trial_id: explain_needs(experiment, trials).get(trial.pk) for trial in trials}
    assert told == {
        "build00001": None,
        "profile00001": ("build00001", "waits for build00001"),
        "t001": ("profile00001", "waits for profile00001"),
    }
    lease = lease_round()[worker_id]
    say(worker_id, tell_record(lease, fail_record(lease, phase="setup")))
    trials = list(Trial.objects.filter(experiment=experiment).order_by("position"))
    whys = [explain_needs(experiment, [trial]).get(trial.pk, ("", ""))[1] for trial in trials]
    assert whys[1] == "it needs build00001, which gave no build: it went wrong"
    assert whys[2] == "it needs profile00001, which gave no profile"
    assert explain_failed_needs(trials) == {trials[0].pk: "it went wrong"}


@pytest.mark.usefixtures("memory_database")
def test_a_bundle_says_which_file_is_the_profile_of_which_trials() -> None:
    worker_id = join("bench").worker_id
    experiment = submit_profiles([worker_id])
    while leases := lease_round():
        lease = leases[worker_id]
        if lease.task == "profile" and lease.spec.package.name == "bzip2":
            say(worker_id, tell_record(lease, fail_record(lease)))
        else:
            make_what_is_asked(worker_id, lease)
    made, failed = list_profiles(FleetExperiment.objects.get(pk=experiment))
    assert (made.package, made.machine, made.state, made.file) == (
        "xz", "bench", "completed", f"artifacts/{made.profile}.1/callgrind.out",
    )  # fmt: skip
    assert (failed.package, failed.state, failed.file, failed.reason) == (
        "bzip2", "failed", "", "it went wrong",
    )  # fmt: skip
    measured = Trial.objects.filter(purpose="design")
    assert set(made.trials) == set(
        measured.filter(needs__trial_id=made.profile).values_list("trial_id", flat=True)
    )
    assert len(made.trials) == len(failed.trials) == 4


@pytest.mark.usefixtures("memory_database")
def test_pages_and_api_show_stages_and_what_a_trial_waits_for() -> None:
    ada = ApiUser("ada")
    experiment = submit_profiles([join().worker_id], "xz", trials=1)
    client = Client()
    client.force_login(make_user())
    for path in (f"/experiments/{experiment}", "/queue"):
        page = client.get(path).content.decode()
        assert '<th scope="row">profile</th>' in page
        assert '<td data-label="Waits for">build</td>' in page
    page = client.get(f"/experiments/{experiment}/trials/t001").content.decode()
    assert "None so far: waits for profile00001." in page
    _, status = ada.get(f"/experiments/{experiment}")
    assert [line["stage"] for line in status["stages"]] == ["build", "profile", "measure"]
    _, trials = ada.get(f"/experiments/{experiment}/trials")
    assert [line["needs"] for line in trials["trials"]] == ["", "build00001", "profile00001"]


def test_stages_are_a_table_with_a_row_each() -> None:
    line = StageLine("measure", 1, 2, 3, 4, 5, 6, "profile")
    table = tabulate_stages([("7", [line])])
    cells = [next(iter(column.cells)) for column in table.columns]
    assert cells == ["7", "measure", "1", "2", "3", "4", "5", "6", "profile"]
