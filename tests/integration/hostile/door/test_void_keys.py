"""A stranger with no key, a void one or a closed account's: refused at every address, with a sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from acceptance.conftest import Command
from django.conf import settings
from django.contrib.auth.models import User
from django.http import Http404
from django.test import AsyncRequestFactory, Client
from django.urls import URLPattern, URLResolver, get_resolver
from integration.hostile.door.strangers import DoorCoordinator, ask
from integration.service.api_users import ApiUser

from datamill.service.accounts import make_api_key, revoke_api_key
from datamill.service.front_door.static_files import StaticFiles
from datamill.service.front_door.visitors import guesses
from datamill.service.notices.targets import add_feed

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
#: Addresses of the API that ask for no key: one is not there, one is the schema, one asks for a token.
OPEN = {"api/", "api/openapi.json", "api/workers/enrol"}
NUL_COOKIE = r'sessionid="aaaaaaaaaaaa\000aaaa"'


@pytest.fixture(autouse=True)
def coordinator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(settings, "DATA_FOLDER", tmp_path / "data")
    monkeypatch.setattr(settings, "PASSWORD_HASHERS", ["django.contrib.auth.hashers.MD5PasswordHasher"])
    guesses.SECRETS.clear()
    yield
    guesses.SECRETS.clear()


def list_routes(resolver: Any = None, before: str = "") -> Iterator[str]:
    """Every address of the coordinator, as it is written down."""
    for item in (resolver or get_resolver()).url_patterns:
        path = before + str(item.pattern).replace("^", "").replace("$", "")
        if isinstance(item, URLResolver):
            yield from list_routes(item, path)
        elif isinstance(item, URLPattern):
            yield path


def fill(route: str) -> str:
    return "/" + re.sub(r"<([^>]+)>", lambda match: "one" if "name" in match[1] else "1", route)


def list_bearers() -> dict[str, dict[str, str]]:
    """The headers of those who have no key that is good."""
    ada = ApiUser("ada")
    revoked = make_api_key(ada.user, "lost")
    revoke_api_key(ada.user, "lost")
    closed = ApiUser("bob")
    User.objects.filter(pk=closed.user.pk).update(is_active=False)
    return {
        "none": {},
        "unknown": {"Authorization": "Bearer dmk_" + "x" * 43},
        "revoked": {"Authorization": f"Bearer {revoked}"},
        "closed": {"Authorization": f"Bearer {closed.key}"},
        "empty": {"Authorization": "Bearer "},
        "another scheme": {"Authorization": "Basic YTpi"},
        "no scheme": {"Authorization": ada.key},
        "odd": {"Authorization": "Bearer \x01\xff"},
        "forged session": {"Cookie": "sessionid=" + "a" * 32 + "; csrftoken=" + "a" * 32},
        "session with NUL": {"Cookie": NUL_COOKIE},
    }


@pytest.mark.usefixtures("database")
def test_every_address_of_the_api_answers_a_stranger_with_401_and_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guesses.SECRETS, "_most_from_origin", 100_000)
    routes = [route for route in list_routes() if route.startswith("api/") and route not in OPEN]
    assert len(routes) > 15
    for name, headers in list_bearers().items():
        for route in dict.fromkeys(routes):
            told = set()
            for method in METHODS:
                strict = Client(enforce_csrf_checks=True, raise_request_exception=False)
                answer = strict.generic(method, fill(route), headers=headers)
                told.add(answer.status_code)
                assert answer.status_code in (401, 405), (name, method, route, answer.status_code)
                if answer.status_code == 401 and method != "HEAD":
                    assert answer["WWW-Authenticate"] == "Bearer"
                    assert answer.json()["message"], (name, method, route)
                    assert answer.json()["remedy"], (name, method, route)
            assert 401 in told, (name, route, told)


@pytest.mark.usefixtures("memory_database")
def test_a_void_key_is_void_even_beside_a_good_session() -> None:
    ada = ApiUser("ada")
    session = Client(enforce_csrf_checks=True)
    session.force_login(ada.user)
    void = {"Authorization": "Bearer dmk_nobody"}
    assert session.post("/api/tokens", "{}", content_type="application/json", headers=void).status_code == 401
    # Without a key it is the session that asks, and changes need the proof against forged requests.
    refused = session.post("/api/tokens", "{}", content_type="application/json")
    assert refused.status_code == 403
    assert "proof" in refused.json()["message"]
    assert session.get("/api/me").json()["user"] == "ada"


@pytest.mark.usefixtures("memory_database")
def test_guessing_keys_and_tokens_is_counted_and_good_ones_are_served_meanwhile() -> None:
    ada = ApiUser("ada")
    stranger = Client()
    told = [
        stranger.get("/api/me", headers={"Authorization": f"Bearer guess{number}"}).status_code
        for number in range(guesses.MOST_UNKNOWN + 1)
    ]
    assert told == [401] * guesses.MOST_UNKNOWN + [429]
    answer = stranger.get("/api/me", headers={"Authorization": "Bearer guess"})
    assert 0 < int(answer["Retry-After"]) <= guesses.FORGET_S + 1
    assert "address" in answer.json()["message"]
    # From the same address: a guess in the neighbourhood must not shut others out.
    assert ada.get("/me")[0] == 200
    # Another of the same network of IPv6 is the same origin, another network is not.
    last = {"headers": {"Authorization": "Bearer guess"}}
    for number in range(guesses.MOST_UNKNOWN):
        stranger.get("/api/me", REMOTE_ADDR=f"2001:db8:1:2::{number:x}", **last)
    assert stranger.get("/api/me", REMOTE_ADDR="2001:db8:1:2:ffff::1", **last).status_code == 429
    assert stranger.get("/api/me", REMOTE_ADDR="2001:db8:1:3::1", **last).status_code == 401


@pytest.mark.usefixtures("memory_database")
def test_guessing_the_key_of_a_feed_is_counted_with_other_keys() -> None:
    key = add_feed(ApiUser("ada").user, ("ended",), 1.0)
    told = [
        Client().get(f"/notices.atom?key=dmf_{number}").status_code for number in range(guesses.MOST_UNKNOWN)
    ]
    assert told == [404] * guesses.MOST_UNKNOWN
    refused = Client().get("/notices.atom?key=dmf_guess")
    assert (refused.status_code, int(refused["Retry-After"]) > 0) == (429, True)
    assert Client().get("/api/me", headers={"Authorization": "Bearer guess"}).status_code == 429
    assert Client().get(f"/notices.atom?key={key}").status_code == 200
    assert Client().get("/notices.atom").status_code == 404


@pytest.mark.usefixtures("memory_database")
def test_static_paths_that_lead_nowhere_are_not_found() -> None:
    files = StaticFiles(lambda *_: None)
    found = files.serve(AsyncRequestFactory().get("/static/datamill/style.css"))
    assert found.status_code == 200
    found.close()
    odd = ("..", "../../settings.py", "%00", "datamill/" + "x" * 5000, "/etc/passwd", "datamill", "%2e%2e/")
    for path in odd:
        with pytest.raises(Http404):
            files.serve(AsyncRequestFactory().get(f"/static/{path}"))


VERBS = (
    ("watch",), ("watch", "1"), ("fetch", "1"), ("cancel", "1"), ("release", "1"), ("trials", "1"),
    ("workers",), ("workers", "drain", "one"), ("workers", "resume", "one"), ("worker", "token"),
    ("submit", "experiment.toml"),
)  # fmt: skip


def test_every_verb_says_that_the_key_is_void(stranger_url: str, datamill: Command, tmp_path: Path) -> None:
    (tmp_path / "p1").mkdir()
    for name in ("run.sh", "collect.sh"):
        (tmp_path / "p1" / name).write_text("#!/bin/sh\ntrue\n")
        (tmp_path / "p1" / name).chmod(0o755)
    (tmp_path / "experiment.toml").write_text(
        '[experiment]\nname = "e"\nreplicates = 1\n[[package]]\nname = "p1"\npath = "p1"\n'
    )
    for verb in VERBS:
        done = datamill(*verb, "--url", stranger_url, "--key", "dmk_void", timeout_s=120)
        assert done.returncode == 2, (verb, done.stdout, done.stderr)
        assert "does not know this key" in done.stderr, (verb, done.stderr)
        assert "Traceback" not in done.stderr
        assert "CSRF" not in done.stderr


@pytest.fixture
def stranger_url(tmp_path: Path) -> Iterator[str]:
    """The address of a coordinator."""
    served = DoorCoordinator(tmp_path / "served" / "data")
    served.data.parent.mkdir()
    served.start()
    try:
        served.wait_until_well()
        status, told = ask(served.port, f"/files/{'a' * 64}", Authorization="Bearer dmk_void")
        assert (status, bool(json.loads(told)["remedy"])) == (401, True)
        yield served.url
    finally:
        served.stop()
