"""Answers of a coordinator of another version, or of something that is no coordinator."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from datamill import __version__
from datamill.cli.coordinator.coordinator_client import ChangedPlanError, CoordinatorClient
from datamill.client_settings import ClientSettings
from datamill.experiment.errors import InputError
from datamill.protocol.api.accounts import MachineToken, TokenRequest
from datamill.protocol.api.fleet.workers import WorkerLine

WORKER: dict[str, Any] = {
    "name": "pi", "worker_id": "1", "owner": "ann", "state": "idle", "state_reason": "",
    "hardware": {"arch": "aarch64"}, "clock_offset_s": 0.0, "joined_unix_s": 1.0, "heard_unix_s": 2.0,
    "attempts": {},
}  # fmt: skip
ME = {"user": "ann", "admin": False, "datamill": "9.9.9"}


class FakeCoordinator:
    """A client whose requests are answered from a table: path -> status, and content."""

    def __init__(self, answers: dict[str, tuple[int, Any]]) -> None:
        self.answers = answers
        self.requests: list[httpx.Request] = []
        self.client = CoordinatorClient(ClientSettings("https://lab", "key", None))
        self.client._client = httpx.Client(base_url="https://lab", transport=httpx.MockTransport(self.answer))

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        status, content = self.answers[request.url.path]
        return (
            httpx.Response(status, text=content)
            if isinstance(content, str)
            else httpx.Response(status, json=content)
        )


def test_what_a_newer_coordinator_adds_is_passed_over() -> None:
    worker = WORKER | {"battery": 0.5}
    fleet = FakeCoordinator({"/api/workers": (200, [worker])})
    (found,) = fleet.client.get("/workers", list[WorkerLine])
    assert (found.name, found.hardware) == ("pi", {"arch": "aarch64"})


@pytest.mark.parametrize(
    ("worker", "what"),
    [
        (
            {name: value for name, value in WORKER.items() if name != "state"},
            "missing required field `state`",
        ),
        (WORKER | {"hardware": None}, "expected `object`, got `null` - at `$[0].hardware`"),
    ],
)
def test_an_answer_that_lacks_something_names_it_and_both_versions(worker: dict[str, Any], what: str) -> None:
    fleet = FakeCoordinator({"/api/workers": (200, [worker]), "/api/me": (200, ME)})
    with pytest.raises(InputError) as caught:
        fleet.client.get("/workers", list[WorkerLine])
    assert what in caught.value.message
    assert f"what datamill {__version__} expects" in caught.value.message
    assert caught.value.where == "https://lab/api/workers"
    assert caught.value.remedy == "The coordinator is datamill 9.9.9: have the older one of both updated."


def test_a_coordinator_that_does_not_say_its_version_is_of_another_one() -> None:
    fleet = FakeCoordinator({"/api/workers": (200, [{}]), "/api/me": (404, "nothing here")})
    with pytest.raises(InputError, match="The coordinator is of another version"):
        fleet.client.get("/workers", list[WorkerLine])


@pytest.mark.parametrize("status", [200, 502])
def test_what_is_no_coordinator_is_asked_about_as_such(status: int) -> None:
    fleet = FakeCoordinator({"/api/workers": (status, "<html>Welcome</html>")})
    with pytest.raises(InputError, match="Is this the address of a datamill coordinator"):
        fleet.client.get("/workers", list[WorkerLine])


def test_a_request_is_its_record() -> None:
    made = {"token": "t", "expires_unix_s": 5}
    fleet = FakeCoordinator({"/api/tokens": (200, made)})
    assert fleet.client.post("/tokens", MachineToken, TokenRequest(60.0)) == MachineToken("t", 5.0)
    assert json.loads(fleet.requests[0].content) == {"life_s": 60.0}


def test_a_refusal_is_told_even_if_its_plan_is_of_another_version() -> None:
    refusal = {"message": "the plan has changed", "where": "x.toml", "remedy": "Look.", "plan": {"name": "x"}}
    fleet = FakeCoordinator({"/api/experiments": (409, refusal)})
    with pytest.raises(InputError, match="the plan has changed") as caught:
        fleet.client.post("/experiments", MachineToken)
    assert not isinstance(caught.value, ChangedPlanError)
    assert (caught.value.where, caught.value.remedy) == ("x.toml", "Look.")
