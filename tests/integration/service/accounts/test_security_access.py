"""Who reaches what: pages and API by one who guesses, forges, frames or writes markup into names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from integration.service.api_users import ApiUser, make_package, make_submission, store
from integration.service.fleets import bring, digest, join, list_leases, make_record, say, tell_record

from datamill.protocol.fleet import ArtifactFile
from datamill.service.accounts import make_user
from datamill.service.coordinator.step import step
from datamill.service.front_door.visitors import guesses
from datamill.service.models import Artifact, Event, FleetWorker, Quarantine
from datamill.service.pages.accounts import login

PASSWORD = "correct horse battery staple"
MARKUP = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def coordinator(memory_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    assert memory_database == "sqlite"
    monkeypatch.setattr(settings, "DATA_FOLDER", tmp_path / "data")
    monkeypatch.setattr(settings, "PASSWORD_HASHERS", ["django.contrib.auth.hashers.MD5PasswordHasher"])
    guesses.PASSWORDS.clear()
    yield
    guesses.PASSWORDS.clear()


@pytest.fixture
def private() -> tuple[int, str]:
    """Ada's experiment with a trial that has left a record and a file; its number and trial."""
    ada = ApiUser("ada")
    worker_id = join("one").worker_id
    number = ada.post("/experiments", make_submission(ada.user))[1]["id"]
    step(1_700_000_000.0)
    lease = list_leases()[worker_id]
    bring(worker_id, digest("out"), 3)
    artifact = ArtifactFile("run.stdout", digest("out"), 3)
    say(worker_id, tell_record(lease, make_record(lease), artifacts=(artifact,)))
    assert Artifact.objects.exists()
    return number, lease.spec.trial_id


def list_routes(resolver: Any = None, before: str = "") -> Iterator[str]:
    """Every address of the coordinator, as it is written down."""
    for item in (resolver or get_resolver()).url_patterns:
        path = before + str(item.pattern).replace("^", "").replace("$", "")
        if isinstance(item, URLResolver):
            yield from list_routes(item, path)
        elif isinstance(item, URLPattern):
            yield path


def fill_route(route: str, number: int, trial: str) -> str:
    values = {
        "number": number,
        "experiment_id": number,
        "trial_id": trial,
        "name": "run.stdout",
        "kind": "json" if "figures" in route else "csv",
    }

    def fill(match: re.Match[str]) -> str:
        name = match[1].rpartition(":")[2]
        return "1" if name == "number" and "trial_id" in route else str(values[name])

    return "/" + re.sub(r"<([^>]+)>", fill, route)


def test_no_address_shows_anything_of_a_private_experiment(private: tuple[int, str]) -> None:
    number, trial = private
    routes = [route for route in list_routes() if route.startswith(("experiments/<", "api/experiments/<"))]
    assert len(routes) > 15
    bob = ApiUser("bob")
    session = Client()
    session.force_login(bob.user)
    stranger = Client()
    # What a body lacks is told before anything is looked up, the same of every number.
    whole_bodies = {
        "api/experiments/<number>/priority": b'{"priority": 2}',
        "api/experiments/<number>/rerun": b'{"margin": 0.05}',
        "api/experiments/<number>/publish": b'{"title": "Loops", "authors": ["Doe, Jane"]}',
    }
    for route in routes:
        path = fill_route(route, number, trial)
        if route in whole_bodies:
            told = session.post(path, whole_bodies[route], content_type="application/json")
            assert told.status_code == 404, (path, told.content)
            continue
        for method in ("get", "post"):
            told = getattr(session, method)(path)
            assert told.status_code in (403, 404, 405), (method, path, told.status_code)
            assert told.status_code != 403 or route.startswith("api/"), path
            assert b"two-loops" not in told.content
            if path.startswith("/api/"):
                by_key = getattr(session, method)(path, headers={"Authorization": f"Bearer {bob.key}"})
                assert by_key.status_code in (404, 405), (method, path, by_key.status_code)
            away = getattr(stranger, method)(path)
            assert away.status_code in (302, 401, 403, 405), (method, path, away.status_code)
    # It is the one who asks who makes the difference.
    owner = Client()
    owner.force_login(User.objects.get(username="ada"))
    shown = {route: owner.get(fill_route(route, number, trial)).status_code for route in routes}
    assert shown["experiments/<int:experiment_id>"] == 200


def test_lists_hold_nothing_of_others(private: tuple[int, str]) -> None:
    assert private
    bob = ApiUser("bob")
    assert bob.get("/experiments")[1] == []
    session = Client()
    session.force_login(bob.user)
    for path in ("/experiments", "/workers/one", "/quarantine", "/experiments/new"):
        page = session.get(path, follow=True)
        assert page.status_code == 200
        assert b"two-loops" not in page.content
        assert private[1].encode() not in page.content
    assert bob.get("/events")[0] == 403
    assert session.get("/audit").status_code == 403
    assert session.get("/users").status_code == 403


def test_packages_in_quarantine_are_told_to_those_who_may_see_them() -> None:
    ada, bob, root = ApiUser("ada"), ApiUser("bob"), ApiUser("root", admin=True)
    barred = store(make_package(), ada.user, "secret-product")
    Quarantine.objects.create(sha256=barred, reason="took three machines down", since_unix_s=1.0)
    told = {user.user.username: len(user.get("/quarantine")[1]) for user in (ada, bob, root)}
    assert told == {"ada": 1, "bob": 0, "root": 1}
    session = Client()
    session.force_login(bob.user)
    assert b"secret-product" not in session.get("/quarantine").content
    assert bob.post(f"/quarantine/{barred}/lift")[0] == 403
    assert session.post(f"/quarantine/{barred}/lift").status_code == 403
    assert Quarantine.objects.get().lifted_unix_s is None


def test_machines_are_changed_by_their_owners_alone() -> None:
    join("one", owner="carol")
    bob = ApiUser("bob")
    session = Client()
    session.force_login(bob.user)
    for change in ("drain", "resume", "remove"):
        assert bob.post(f"/workers/one/{change}")[0] == 403
        assert session.post(f"/workers/one/{change}").status_code == 403
    assert FleetWorker.objects.get().state == "idle"


def test_a_browser_is_not_made_to_act_by_another_site() -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(make_user("ada", PASSWORD))
    join("one", owner="ada")
    assert strict.post("/workers/one/remove").status_code == 403
    assert strict.post("/api/workers/one/remove").status_code in (401, 403)
    assert strict.post("/api/tokens", "{}", content_type="application/json").status_code in (401, 403)
    assert strict.post("/login", {"username": "ada", "password": PASSWORD}).status_code == 403
    assert FleetWorker.objects.get().state == "idle"


def test_pages_are_not_framed_and_load_nothing_from_elsewhere() -> None:
    session = Client()
    session.force_login(make_user("ada", PASSWORD))
    for path in ("/login", "/experiments", "/workers"):
        headers = session.get(path).headers
        assert headers["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_a_session_is_a_new_one_after_login_and_void_after_logout() -> None:
    make_user("ada", PASSWORD)
    planted = Client()
    planted.get("/login")
    planted.session["planted"] = "yes"
    planted.session.save()
    before = planted.session.session_key
    assert planted.post("/login", {"username": "ada", "password": PASSWORD}).status_code == 302
    assert planted.session.session_key != before
    stolen = planted.cookies["sessionid"].value
    planted.post("/logout")
    thief = Client()
    thief.cookies["sessionid"] = stolen
    assert thief.get("/experiments").status_code == 302


def test_cookies_are_secure_under_tls_and_never_for_scripts() -> None:
    make_user("ada", PASSWORD)
    browser = Client()
    answer = browser.post("/login", {"username": "ada", "password": PASSWORD}, secure=True)
    cookies = answer.cookies
    assert cookies["sessionid"]["httponly"]
    assert cookies["sessionid"]["samesite"] == "Lax"
    assert set(cookies) >= {"sessionid", "csrftoken"}
    for cookie in cookies.values():
        assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == (True, True, "Lax")


def test_a_browser_that_came_over_tls_comes_over_tls_again() -> None:
    told = Client().get("/login", secure=True, headers={"host": "mill.example.org:8642"})
    assert told["Strict-Transport-Security"] == "max-age=2592000"
    assert "Strict-Transport-Security" not in Client().get("/login").headers
    # On this machine other servers have the same name, and speak no TLS.
    for host in ("localhost:8642", "127.0.0.1:8642", "[::1]:8642", "localhost"):
        told = Client().get("/login", secure=True, headers={"host": host})
        assert "Strict-Transport-Security" not in told.headers, host


def test_what_members_see_is_kept_by_no_cache_and_read_by_no_other_site() -> None:
    ada = ApiUser("ada")
    session = Client()
    session.force_login(ada.user)
    for path in ("/experiments", "/account", "/api/me", "/login"):
        headers = session.get(path).headers
        assert "no-store" in headers["Cache-Control"], path
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:1"]
)
def test_login_leads_nowhere_else(target: str) -> None:
    make_user("ada", PASSWORD)
    answer = Client().post("/login", {"username": "ada", "password": PASSWORD, "next": target})
    assert (answer.status_code, answer["Location"]) == (302, "/")


def test_guessing_passwords_is_slowed_down_and_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    make_user("ada", PASSWORD)
    now_s = [1000.0]
    throttle = guesses.GuessLimit(guesses.MOST_FOR_ACCOUNT, guesses.MOST_FROM_ORIGIN, lambda: now_s[0])
    monkeypatch.setattr(login, "PASSWORDS", throttle)

    def try_password(password: str, address: str = "192.0.2.1", name: str = "ada") -> int:
        data = {"username": name, "password": password}
        return int(Client().post("/login", data, REMOTE_ADDR=address).status_code)

    tried = [try_password("wrong") for _ in range(guesses.MOST_FOR_ACCOUNT + 1)]
    assert tried == [200] * guesses.MOST_FOR_ACCOUNT + [429]
    # Even the right one: or guessing would go on.
    assert try_password(PASSWORD) == 429
    # From elsewhere the owner is not locked out.
    assert try_password(PASSWORD, "192.0.2.2") == 302
    (event,) = Event.objects.filter(kind="logins refused")
    assert (event.user, "192.0.2.1" in event.detail) == ("ada", True)
    now_s[0] += guesses.FORGET_S
    assert try_password(PASSWORD) == 302
    # One address that tries many names is slowed down as well, and nobody's password gets into the account.
    tried = [try_password("x", "192.0.2.3", name=f"hunter{n}") for n in range(guesses.MOST_FROM_ORIGIN + 1)]
    assert tried[-2:] == [200, 429]
    assert not Event.objects.filter(kind="logins refused", user__startswith="hunter").exists()


def test_closed_accounts_are_shut_out_of_sessions_and_keys_at_once() -> None:
    ada = ApiUser("ada")
    session = Client()
    session.force_login(ada.user)
    assert session.get("/experiments").status_code == 200
    User.objects.filter(pk=ada.user.pk).update(is_active=False)
    assert session.get("/experiments").status_code == 302
    assert ada.get("/me")[0] == 401


def test_keys_and_tokens_are_in_no_event_and_no_table_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datamill.service.membership.read_fingerprint", lambda: "plain")
    ada = ApiUser("ada")
    _, made = ada.post("/tokens", {"life_s": 60})
    token = made["token"].split(".")[0]
    for event in Event.objects.all():
        assert ada.key not in event.detail
        assert token not in event.detail
    worker = join("one")
    assert FleetWorker.objects.filter(api_key_sha256=worker.api_key).count() == 0


def test_what_workers_and_users_call_themselves_is_no_markup() -> None:
    ada = ApiUser("ada")
    join(MARKUP, cpu_model=MARKUP, kernel=MARKUP, owner="ada", distribution=MARKUP)
    name = FleetWorker.objects.get().name
    assert "<" not in name
    text = make_submission(ada.user)["text"].replace("Which is faster?", MARKUP)
    number = ada.post("/experiments", make_submission(ada.user, text, public=True))[1]["id"]
    session = Client()
    session.force_login(ada.user)
    for path in (f"/experiments/{number}", f"/workers/{name}", "/workers", "/experiments/new/machines"):
        page = session.get(path).content.decode()
        assert MARKUP not in page, path
    assert "&lt;script&gt;" in session.get(f"/workers/{name}").content.decode()


@pytest.mark.parametrize("number", ["9" * 18, "9" * 30, "9" * 400, "9" * 5000], ids=len)
def test_numbers_beyond_all_bounds_are_of_nothing(number: str) -> None:
    ada = ApiUser("ada")
    session = Client(raise_request_exception=False)
    session.force_login(ada.user)
    for path in (
        f"/experiments/{number}",
        f"/experiments/{number}/answer",
        f"/experiments/{number}/bundle",
        f"/experiments/new/file?fork={number}",
    ):
        assert session.get(path).status_code == 404, path
    assert session.get(f"/experiments?page={number}").status_code == 200
    assert ada.get(f"/experiments/{number}")[0] in (404, 422)
