"""A key does what it was made for, and makes none that does more."""

from __future__ import annotations

import pytest
from django.test import Client
from integration.hostile.users.routes import ROUTES, list_routes
from integration.service.api_users import ApiUser, make_submission
from integration.service.fleets import join

from datamill.protocol.api.accounts import SCOPES
from datamill.service.accounts import make_api_key
from datamill.service.api.scopes import CHANGES, READS
from datamill.service.models import ApiKey, Event

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")


def use(user: ApiUser, *scopes: str) -> Client:
    """A program with another key of a user."""
    key = make_api_key(user.user, "narrow", scopes=scopes)
    return Client(headers={"Authorization": f"Bearer {key}"})


def test_every_change_of_the_api_has_a_scope_and_nothing_else_has_one() -> None:
    routes = [route for route in list_routes() if route.startswith("api/")]
    # With a session or a token of a machine there is no key of a user.
    others = {"api/openapi.json", "api/workers/enrol", "api/workers/credential"}
    assert {route for route in routes if ROUTES[route][1] is not None} - others == set(CHANGES)
    assert set(READS) <= set(routes)
    assert set(CHANGES.values()) | set(READS.values()) | {"read"} == set(SCOPES)


def test_what_only_administrators_do_needs_the_scope_of_administrators() -> None:
    for route, (read, change) in ROUTES.items():
        if route.startswith("api/"):
            assert (read == "admin") == (READS.get(route) == "admin"), route
            assert (change == "admin") == (CHANGES.get(route) == "admin"), route


def test_a_key_that_may_look_changes_nothing() -> None:
    ada = ApiUser("ada", admin=True)
    join("one", owner="ada")
    client = use(ada, "read")
    assert client.get("/api/workers").status_code == 200
    for path in ("/api/workers/one/remove", "/api/tokens", "/api/backups", "/api/keys"):
        answer = client.post(path, {}, content_type="application/json")
        assert answer.status_code == 403, path
        assert "lacks the scope" in answer.json()["message"]
    for path in ("/api/users", "/api/events", "/api/notices"):
        assert client.get(path).status_code == 403, path
    assert client.get("/api/me").json()["scopes"] == ["read"]


def test_a_key_that_submits_publishes_nothing() -> None:
    ada = ApiUser("ada")
    join("one")
    client = use(ada, "submit")
    body = make_submission(ada.user)
    number = client.post("/api/experiments", body, content_type="application/json").json()["id"]
    assert client.get(f"/api/experiments/{number}").status_code == 403
    said = {"title": "Loops", "authors": ["Doe, Jane"]}
    refused = client.post(f"/api/experiments/{number}/publish", said, content_type="application/json")
    assert refused.status_code == 403


def test_a_key_makes_none_that_does_more_than_it() -> None:
    ada = ApiUser("ada")
    client = use(ada, "read", "account")
    wide = client.post("/api/keys", {"name": "wide"}, content_type="application/json")
    assert (wide.status_code, wide.json()["where"]) == (403, "scopes")
    asked = {"name": "same", "scopes": ["account", "read"]}
    made = client.post("/api/keys", asked, content_type="application/json").json()
    assert made["scopes"] == ["read", "account"]
    by_it = Client(headers={"Authorization": f"Bearer {made['key']}"})
    assert by_it.get("/api/me").json() == ada.get("/me")[1] | {"scopes": ["read", "account"]}
    left = by_it.post("/api/keys/revoke", {"name": "same"}, content_type="application/json").json()
    assert [key["name"] for key in left if key["revoked_unix_s"] is None] == ["narrow", "test"]
    assert by_it.get("/api/me").status_code == 401
    assert Event.objects.filter(detail='key "same" for read, account').count() == 1


def test_a_page_makes_keys_for_what_was_ticked() -> None:
    ada = ApiUser("ada")
    client = Client()
    client.force_login(ada.user)
    assert "admin:" not in client.get("/account").content.decode()
    client.post("/account/keys", {"name": "ci", "scope": ["read", "submit", "nonsense"]})
    assert ApiKey.objects.get(name="ci").scopes == "read submit"
    nothing = client.post("/account/keys", {"name": "void"})
    assert (nothing.status_code, b"for nothing" in nothing.content) == (400, True)
