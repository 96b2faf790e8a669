"""Metrics that responses need: those that cannot come are refused, the others are said to be unchecked."""

from __future__ import annotations

import html

import pytest
from django.test import Client
from integration.service.api_users import (
    SCRIPT,
    TEXT,
    ApiUser,
    describe_file,
    make_package,
    make_submission,
    pack,
    store,
)
from integration.service.fleets import (
    START_S,
    join,
    list_leases,
    make_record,
    say,
    tell_record,
)

from datamill.service.coordinator.step import step
from datamill.service.models import FleetExperiment

pytestmark = pytest.mark.usefixtures("data_folder")


METRIC = (
    TEXT + '\n[responses.rate]\nunit = "1/s"\nformula = "operations / wall_time_s"\ndirection = "higher"\n'
)


SILENT = pack({"run.sh": SCRIPT})


@pytest.mark.usefixtures("database")
def test_a_metric_that_a_package_cannot_report_is_refused_with_the_plan() -> None:
    ada = ApiUser("ada")
    join("lab-1")
    body = make_submission(ada.user, METRIC)
    body["packages"][0] = describe_file("p1", store(SILENT, ada.user), len(SILENT), has_collect=False)
    status, problem = ada.post("/experiments/plan", body)
    assert status == 400
    assert problem["message"] == (
        'response "rate" needs "operations", which package "p1" cannot report: it has no collect.sh'
    )
    assert problem["where"] == "experiment.toml: [responses.rate] formula"


@pytest.mark.usefixtures("database")
def test_what_a_client_says_of_its_packages_is_not_believed_when_it_submits() -> None:
    ada = ApiUser("ada")
    join("lab-1")
    body = make_submission(ada.user, METRIC)
    body["packages"][0] = describe_file("p1", store(SILENT, ada.user), len(SILENT))
    status, problem = ada.post("/experiments", body)
    assert (status, "cannot report" in problem["message"]) == (400, True)
    assert not FleetExperiment.objects.exists()


@pytest.mark.usefixtures("database")
def test_a_plan_says_which_metrics_are_not_checked_and_what_will_show_them() -> None:
    ada = ApiUser("ada")
    join("lab-1")
    near = METRIC.replace("operations", "wall_times")
    for debug, shown_by in (("never", "the first trials show"), ("first", "the debug trials, before the")):
        status, plan = ada.post("/experiments/plan", make_submission(ada.user, near, debug=debug))
        assert status == 200
        (unchecked,) = (text for text in plan["warnings"] if "not checked here" in text)
        assert unchecked.startswith("wall_times is a metric that packages must report")
        assert shown_by in unchecked
        assert any('built-in "wall_time_s" is meant' in text for text in plan["warnings"])
    status, plan = ada.post("/experiments/plan", make_submission(ada.user))
    assert not any("metric" in text for text in plan["warnings"])


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("reported", ["operations", "operation"])
def test_debug_trials_without_a_metric_that_the_question_needs_hold_the_design(reported: str) -> None:
    ada = ApiUser("ada")
    join("lab-1")
    number = ada.post("/experiments", make_submission(ada.user, METRIC, debug="first"))[1]["id"]
    now_s = START_S
    for _ in range(2):
        step(now_s)
        ((worker_id, lease),) = list_leases(now_s).items()
        say(worker_id, tell_record(lease, make_record(lease, metrics={reported: (5.0,)})), now_s)
    step(now_s)
    stored = FleetExperiment.objects.get(pk=number)
    if reported == "operations":
        assert stored.state == "running"
        return
    assert stored.state == "held"
    assert stored.state_reason.startswith(
        'response "rate" needs "operations", which is not built in and which'
    )
    assert 'Did you mean "operation"?' in stored.state_reason


@pytest.mark.usefixtures("database")
def test_the_form_refuses_a_metric_that_cannot_come_and_says_what_nobody_checked() -> None:
    ada = ApiUser("ada")
    join("lab-1")
    client = Client()
    client.force_login(ada.user)
    asked = {
        "name": "a", "replicates": "2", "response": "own", "metric": "rate",
        "formula": "operations / wall_time_s", "unit": "1/s", "direction": "higher",
    }  # fmt: skip
    for content, said in (
        (SILENT, "cannot report: it has no collect.sh"),
        (make_package(), "operations is a metric that packages must report, which is not checked here"),
    ):
        chosen = {**asked, "p": f"p1@{store(content, ada.user)}"}
        page = client.get("/experiments/new/space/preview", chosen).content.decode()
        assert said in html.unescape(page)
