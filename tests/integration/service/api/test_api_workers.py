"""The API for machines and the account: who lets them in, who sends them away, and what of it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import nkeys
import pytest
from django.test import Client
from integration.service.api_users import ApiUser
from integration.service.brokers import make_keys
from integration.service.fleets import make_inventory

from datamill.protocol.fleet import Enrolment, EnrolmentRequest, Policy
from datamill.service.broker.access import BrokerAccess, set_broker_access
from datamill.service.broker.keys import make_seed, public_key
from datamill.service.models import EnrolmentToken, Event, FleetWorker

removals: list[str] = []


@pytest.fixture(autouse=True)
def broker_access() -> Iterator[None]:
    """What an enrolment is made from, without a broker."""
    removals.clear()
    urls = ("nats://{host}:4222",)
    set_broker_access(BrokerAccess(make_keys(), urls, on_removal=lambda: removals.append("refresh")))
    yield
    set_broker_access(None)


def request_for(token: str, **changes: Any) -> EnrolmentRequest:
    usual = EnrolmentRequest(
        token=token.rpartition(".")[0],
        name="bench",
        public_key=public_key(make_seed(nkeys.PREFIX_BYTE_USER)),
        inventory=make_inventory("bench"),
        policy=Policy(reboot=True),
    )
    return msgspec.structs.replace(usual, **changes)


def enrol(request: EnrolmentRequest | bytes) -> tuple[int, Any]:
    content = request if isinstance(request, bytes) else msgspec.json.encode(request)
    answer = Client().post("/api/workers/enrol", content, content_type="application/json")
    return answer.status_code, answer.json()


def make_token(user: ApiUser, life_s: float = 3600.0) -> str:
    status, made = user.post("/tokens", {"life_s": life_s})
    assert status == 200
    token: str = made["token"]
    return token


@pytest.mark.usefixtures("database")
def test_a_machine_joins_with_a_token_and_learns_what_it_needs() -> None:
    ada = ApiUser("ada")
    token = make_token(ada)
    assert token.endswith(".plain")
    status, told = enrol(request_for(token))
    assert status == 200
    enrolment = msgspec.convert(told, Enrolment)
    assert (enrolment.name, enrolment.nats_urls, enrolment.ca_pem) == ("bench", ("nats://{host}:4222",), None)
    assert enrolment.nats_jwt.count(".") == 2
    _, workers = ada.get("/workers")
    assert [(item["name"], item["owner"], item["state"]) for item in workers] == [("bench", "ada", "away")]
    _, worker = ada.get("/workers/bench")
    assert worker["inventory"]["hostname"] == "bench"
    assert worker["policy"]["reboot"] is True
    assert Event.objects.filter(kind="token made", user="ada").count() == 1
    # A credential is told once, and only its digest is kept.
    assert enrolment.api_key not in str(FleetWorker.objects.values())
    assert token.rpartition(".")[0] not in str(EnrolmentToken.objects.values())


@pytest.mark.usefixtures("database")
def test_a_token_works_once() -> None:
    token = make_token(ApiUser("ada"))
    assert enrol(request_for(token))[0] == 200
    status, refused = enrol(request_for(token))
    assert status == 400
    assert "used already" in refused["message"]
    assert "datamill worker token" in refused["remedy"]


@pytest.mark.usefixtures("database")
def test_a_token_expires() -> None:
    token = make_token(ApiUser("ada"))
    EnrolmentToken.objects.update(expires_unix_s=1.0)
    status, refused = enrol(request_for(token))
    assert (status, "has expired" in refused["message"]) == (400, True)


@pytest.mark.usefixtures("database")
def test_two_machines_with_one_identity_are_refused() -> None:
    ada = ApiUser("ada")
    first = request_for(make_token(ada))
    assert enrol(first)[0] == 200
    status, refused = enrol(msgspec.structs.replace(first, token=make_token(ada).rpartition(".")[0]))
    assert status == 400
    assert "identity is in the fleet already" in refused["message"]
    assert FleetWorker.objects.count() == 1


@pytest.mark.usefixtures("database")
def test_a_worker_of_another_version_is_told_which_side_is_too_old() -> None:
    token = make_token(ApiUser("ada"))
    for schema, side in ((0, "worker"), (99, "coordinator")):
        inventory = make_inventory("bench", schema=schema)
        status, refused = enrol(request_for(token, inventory=inventory))
        assert (status, f"Install a newer {side}" in refused["remedy"]) == (400, True)
    # It was not used up.
    assert enrol(request_for(token))[0] == 200


@pytest.mark.usefixtures("database")
def test_what_is_no_enrolment_is_refused() -> None:
    token = make_token(ApiUser("ada"))
    sound = msgspec.json.decode(msgspec.json.encode(request_for(token)))
    for content in (
        b"",
        b"[]",
        b"\xff\xfe",
        msgspec.json.encode({**sound, "extra": 1}),
        msgspec.json.encode({**sound, "name": "a\x00b"}),
        b" " * (2 << 20),
    ):
        status, refused = enrol(content)
        assert status == 400
        assert refused["message"]
    status, refused = enrol(request_for(token, public_key="UNOKEY"))
    assert (status, refused["where"]) == (400, "public_key")
    assert not FleetWorker.objects.exists()


@pytest.mark.usefixtures("database")
def test_only_owners_and_administrators_drain_resume_and_remove() -> None:
    ada, bob, root = ApiUser("ada"), ApiUser("bob"), ApiUser("root", admin=True)
    enrol(request_for(make_token(ada)))
    for verb in ("drain", "resume", "remove"):
        status, refused = bob.post(f"/workers/bench/{verb}")
        assert (status, refused["message"]) == (403, 'worker "bench" is ada\'s')
    assert ada.post("/workers/bench/drain")[1]["state"] == "drained"
    assert root.post("/workers/bench/resume")[1]["state"] == "away"
    assert removals == []
    assert ada.post("/workers/bench/remove")[1]["state"] == "removed"
    assert removals == ["refresh"]
    assert ada.get("/workers")[1] == []
    assert [item["name"] for item in ada.get("/workers", state="removed")[1]] == ["bench"]
    assert ada.post("/workers/bench/remove")[0] == 400
    assert ada.post("/workers/nobody/drain")[0] == 404
    kinds = Event.objects.filter(user__in=["ada", "root"], worker_id__gt="").values_list("user", "kind")
    assert list(kinds) == [
        ("ada", "worker joined"),
        ("ada", "worker drained"),
        ("root", "worker resumed"),
        ("ada", "worker removed"),
    ]


@pytest.mark.usefixtures("database")
def test_tokens_live_no_longer_than_a_year() -> None:
    ada = ApiUser("ada")
    for life_s in (0, -1, 1e12, "soon"):
        status, refused = ada.post("/tokens", {"life_s": life_s})
        assert (status, refused["where"]) == (422, "life_s")
