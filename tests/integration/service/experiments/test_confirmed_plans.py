"""What a user confirmed is what runs: a plan that has changed since is shown again, not submitted."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from integration.service.api_users import TEXT, ApiUser, make_submission
from integration.service.fleets import START_S, join

from datamill.service.coordinator.presence.members import remove_worker
from datamill.service.models import FleetExperiment

pytestmark = pytest.mark.usefixtures("data_folder")


@pytest.mark.usefixtures("database")
def test_a_plan_that_is_still_the_same_is_submitted() -> None:
    ada = ApiUser("ada")
    join("fast")
    asked = make_submission(ada.user)
    _, plan = ada.post("/experiments/plan", asked)
    # Being planned for good, with its trials, or once only, changes nothing of it.
    asked["options"] = {"once": True}
    status, submitted = ada.post("/experiments", asked | {"plan": plan["digest"]})
    assert status == 200
    assert submitted["digest"] == plan["digest"]


@pytest.mark.usefixtures("database")
def test_a_plan_that_changed_is_shown_again_and_not_submitted() -> None:
    ada = ApiUser("ada")
    join("fast")
    asked = make_submission(ada.user)
    _, plan = ada.post("/experiments/plan", asked)
    join("slow")
    status, refused = ada.post("/experiments", asked | {"plan": plan["digest"]})
    assert status == 409
    assert refused["message"] == "the plan has changed since it was shown"
    assert [worker["name"] for worker in refused["plan"]["workers"]] == ["fast", "slow"]
    assert not FleetExperiment.objects.exists()
    assert not list((settings.DATA_FOLDER / "plans").iterdir()), "nor is anything of it left"
    assert ada.post("/experiments", asked | {"plan": refused["plan"]["digest"]})[0] == 200


@pytest.mark.usefixtures("database")
def test_the_same_name_of_another_machine_is_another_plan() -> None:
    ada = ApiUser("ada")
    join("fast")
    asked = make_submission(ada.user)
    _, plan = ada.post("/experiments/plan", asked)
    remove_worker("fast", ada.user, START_S)
    join("fast")
    assert ada.post("/experiments", asked | {"plan": plan["digest"]})[0] == 409


@pytest.mark.usefixtures("database")
def test_a_page_shows_a_plan_that_changed_again() -> None:
    ada = ApiUser("ada")
    make_submission(ada.user)
    join("fast", owner="ada")
    client = Client()
    client.force_login(User.objects.get(username="ada"))
    page = client.post("/experiments/new/file", {"text": TEXT}).content.decode()
    field = re.search(r'name="plan" value="([0-9a-f]{64})"', page)
    assert field is not None
    join("slow")
    form = {"text": TEXT, "plan": field[1], "submit": "yes"}
    again = client.post("/experiments/new/file", form).content.decode()
    assert "Not submitted: the plan has changed since it was shown." in again
    assert "<b>slow</b>" in again
    assert not FleetExperiment.objects.exists()
    field = re.search(r'name="plan" value="([0-9a-f]{64})"', again)
    assert field is not None
    assert client.post("/experiments/new/file", form | {"plan": field[1]}).status_code == 302
    assert FleetExperiment.objects.count() == 1
