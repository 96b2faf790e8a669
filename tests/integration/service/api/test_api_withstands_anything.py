"""Whatever is sent to the API, the answer is no failure of the coordinator (schemathesis, seeded)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import hypothesis
import pytest
import schemathesis
from django.conf import settings
from django.test import Client
from integration.service.api_users import TEXT, ApiUser, make_submission
from integration.service.brokers import make_keys
from integration.service.databases import MEMORY_URL, use_database
from integration.service.fleets import join
from running.nightly import choose_count
from schemathesis import GenerationMode

from datamill.service.api.api import api
from datamill.service.broker.access import BrokerAccess, set_broker_access

EXAMPLES = choose_count(6, 100)


@pytest.fixture
def admin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ApiUser:
    """An administrator of a fleet in which there is something of each kind."""
    use_database(MEMORY_URL)
    monkeypatch.setattr(settings, "DATA_FOLDER", tmp_path / "data")
    set_broker_access(BrokerAccess(make_keys(), ("nats://{host}:4222",)))
    user = ApiUser("root", admin=True)
    join("one")
    user.post("/experiments", make_submission(user.user))
    return user


def list_operations() -> list[tuple[str, str]]:
    described = api.get_openapi_schema()["paths"]
    return [(path, method) for path, methods in described.items() for method in methods]


@cache
def read_schema() -> schemathesis.schemas.BaseSchema:
    return schemathesis.openapi.from_dict(dict(api.get_openapi_schema()))


@pytest.mark.parametrize(("path", "method"), list_operations())
def test_no_request_makes_the_coordinator_fail(admin: ApiUser, path: str, method: str) -> None:
    if path.endswith("/stream"):
        # Of an experiment that goes on there is no end to wait for; others are refused as elsewhere.
        admin.post("/experiments/1/cancel")
    operation = read_schema()[path][method.upper()]
    documented = {str(status) for status in operation.definition.raw["responses"]}
    client = Client(headers={"Authorization": f"Bearer {admin.key}"})

    @hypothesis.seed(7)
    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )
    @hypothesis.given(
        case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
        | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    )
    def send(case: schemathesis.Case) -> None:
        sent = case.as_transport_kwargs(base_url="http://testserver")
        body = sent.get("json", sent.get("data", b""))
        is_json = "json" in sent
        answer = client.generic(
            method.upper(),
            case.formatted_path if case.formatted_path.startswith("/") else f"/{case.formatted_path}",
            data=encode(body, is_json=is_json),
            content_type="application/json" if is_json else "application/octet-stream",
            query_params=sent.get("params") or {},
        )
        assert answer.status_code < 500, answer.content
        assert str(answer.status_code) in documented, (answer.status_code, answer.content)
        if answer.status_code >= 400 and answer.headers["Content-Type"].startswith("application/json"):
            assert answer.json()["message"]

    send()


def encode(body: object, *, is_json: bool) -> bytes:
    """The bytes of a request's body."""
    if is_json:
        return json.dumps(body).encode()
    return body if isinstance(body, bytes) else str(body or "").encode()


@pytest.mark.parametrize(
    "text",
    [TEXT.replace("p1", "\x00"), "\x00", "[", "x" * 300_000, TEXT + "\n[[package]]\n" * 2000],
)
def test_no_text_makes_the_planner_fail(admin: ApiUser, text: str) -> None:
    status, refused = admin.post("/experiments/plan", {**make_submission(admin.user), "text": text})
    assert 400 <= status < 500
    assert refused["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"text": "\\ud800", "packages": []}', b"\xff"])
def test_no_body_makes_the_planner_fail(admin: ApiUser, body: bytes) -> None:
    client = Client(headers={"Authorization": f"Bearer {admin.key}"})
    answer = client.post("/api/experiments/plan", body, content_type="application/json")
    assert 400 <= answer.status_code < 500
    assert answer.json()["message"]
