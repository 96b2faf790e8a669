"""The API for experiments: planned, submitted, seen by those who may, refused with reasons."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from integration.service.api_users import (
    ApiUser,
    make_submission,
)
from integration.service.fleets import (
    find_attempt,
    join,
    run_to_the_end,
)

from datamill.service.accounts import revoke_api_key
from datamill.service.bounded_work import calls
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.models import Event, FleetExperiment, Trial

pytestmark = pytest.mark.usefixtures("data_folder")


@pytest.mark.usefixtures("database")
def test_a_plan_shows_workers_coverage_and_size_and_changes_nothing() -> None:
    ada = ApiUser("ada")
    for name in ("fast", "slow"):
        join(name)
    status, plan = ada.post("/experiments/plan", make_submission(ada.user))
    assert status == 200
    assert [worker["name"] for worker in plan["workers"]] == ["fast", "slow"]
    assert plan["coverage"] == {"machine": {"chosen": ["fast", "slow"], "of": ["fast", "slow"]}}
    assert (plan["points"], plan["replicates"], plan["trials"]) == (4, 2, 8)
    assert plan["finish_s"] is None
    assert plan["missing_files"] == []
    assert not FleetExperiment.objects.exists()


@pytest.mark.usefixtures("database")
def test_the_process_that_leases_trials_reads_no_machines_for_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = ApiUser("ada")
    join("fast")
    monkeypatch.setattr(calls, "_serving", CallsElsewhere())
    with CaptureQueriesContext(connection) as queries:
        assert ada.post("/experiments/plan", make_submission(ada.user)) == (200, {"made": "elsewhere"})
    assert not [query["sql"] for query in queries if "datamill_worker" in query["sql"]]


class CallsElsewhere:
    """Calls in processes of their own that answer at once."""

    def run(self, *_: object) -> bytes:
        return b'{"made": "elsewhere"}'


@pytest.mark.usefixtures("database")
def test_an_experiment_is_submitted_and_counts_its_trials() -> None:
    ada = ApiUser("ada")
    for name in ("fast", "slow"):
        join(name)
    status, submitted = ada.post("/experiments", make_submission(ada.user))
    assert status == 200
    number = submitted["id"]
    assert find_violations() == []
    status, experiment = ada.get(f"/experiments/{number}")
    assert experiment["state"] == "running"
    assert experiment["trials"] == {"planned": 8}
    assert experiment["workers"] == {"fast": {"planned": 4}, "slow": {"planned": 4}}
    run_to_the_end()
    status, experiment = ada.get(f"/experiments/{number}")
    assert (experiment["state"], experiment["trials"]) == ("completed", {"counted": 8})
    # Now the packages have been timed, and the next plan says until when.
    status, plan = ada.post("/experiments/plan", make_submission(ada.user))
    assert plan["finish_s"] > 0


@pytest.mark.usefixtures("database")
def test_what_was_typed_takes_the_place_of_what_the_file_says() -> None:
    ada = ApiUser("ada")
    join("one")
    body = make_submission(ada.user, debug="first", public=True, hold=True, reboot="trial")
    _, submitted = ada.post("/experiments", body)
    stored = FleetExperiment.objects.get(pk=submitted["id"])
    assert (stored.reboot, stored.public, stored.hold, stored.state) == ("trial", True, True, "debugging")
    assert submitted["debug_trials"] == 2
    assert Trial.objects.filter(experiment=stored, purpose="debug").count() == 2


@pytest.mark.usefixtures("database")
def test_others_see_an_experiment_only_when_it_is_public() -> None:
    ada, bob, root = ApiUser("ada"), ApiUser("bob"), ApiUser("root", admin=True)
    join("one")
    private = ada.post("/experiments", make_submission(ada.user))[1]["id"]
    public = ada.post("/experiments", make_submission(ada.user, public=True))[1]["id"]
    for path in ("", "/trials", "/events"):
        assert bob.get(f"/experiments/{private}{path}")[0] == 404
        assert bob.get(f"/experiments/{public}{path}")[0] == 200
        assert root.get(f"/experiments/{private}{path}")[0] == 200
    assert [item["id"] for item in bob.get("/experiments")[1]] == [public]
    assert [item["id"] for item in ada.get("/experiments")[1]] == [public, private]
    assert bob.get("/experiments", mine="true")[1] == []
    assert bob.post(f"/experiments/{private}/cancel")[0] == 404
    assert bob.post(f"/experiments/{public}/cancel")[0] == 403
    assert root.post(f"/experiments/{private}/cancel")[1]["state"] == "cancelled"
    assert ada.post(f"/experiments/{public}/cancel")[1]["state"] == "cancelled"
    status, again = ada.post(f"/experiments/{public}/cancel")
    assert status == 400
    assert "has ended" in again["message"]


@pytest.mark.usefixtures("database")
def test_nobody_gets_in_without_a_key_or_with_one_that_was_revoked() -> None:
    ada = ApiUser("ada")
    answer = Client().get("/api/experiments")
    assert answer.status_code == 401
    assert answer.json()["message"] == "there is no key"
    whole = ["read", "submit", "publish", "machines", "account", "admin"]
    assert ada.get("/me") == (
        200,
        {"user": "ada", "admin": False, "datamill": "0.1.0", "scopes": whole},
    )
    assert revoke_api_key(ada.user, "test") == 1
    assert ada.get("/me")[0] == 401
    assert list(Event.objects.filter(user="ada").values_list("kind", flat=True)) == [
        "user made",
        "api key made",
        "api key revoked",
    ]


@pytest.mark.usefixtures("database")
def test_a_submission_is_in_the_account_with_user_and_packages() -> None:
    ada, root = ApiUser("ada"), ApiUser("root", admin=True)
    join("one")
    body = make_submission(ada.user)
    number = ada.post("/experiments", body)[1]["id"]
    assert ada.get("/events")[0] == 403
    _, page = root.get("/events", kind="experiment submitted")
    told = [(event["user"], event["experiment"], event["package_sha256"]) for event in page["events"]]
    assert told == [("ada", number, item["sha256"]) for item in body["packages"]]
    run_to_the_end()
    _, page = ada.get(f"/experiments/{number}/events")
    counted = [event for event in page["events"] if event["kind"] == "attempt counted"]
    assert {event["worker"] for event in counted} == {"one"}
    assert len(counted) == 4


@pytest.mark.usefixtures("database")
def test_trials_are_listed_in_pages_with_what_went_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = ApiUser("ada")
    join("one")
    number = ada.post("/experiments", make_submission(ada.user))[1]["id"]
    run_to_the_end()
    monkeypatch.setattr("datamill.service.api.experiments.MOST_ROWS", 3)
    _, first = ada.get(f"/experiments/{number}/trials")
    _, second = ada.get(f"/experiments/{number}/trials", after=first["next"])
    trials = first["trials"] + second["trials"]
    assert (len(first["trials"]), second["next"]) == (3, None)
    assert {trial["trial_id"] for trial in trials} == {
        trial.trial_id for trial in Trial.objects.filter(experiment=number)
    }
    assert {(trial["state"], trial["outcome"], trial["worker"]) for trial in trials} == {
        ("counted", "completed", "one")
    }
    assert ada.get(f"/experiments/{number}/trials", state="planned")[1]["trials"] == []
    assert ada.get(f"/experiments/{number}/trials", state="nonsense")[0] == 422
    assert find_attempt(f"{number}.{trials[0]['trial_id']}.1").state == "counted"
