"""Every address with every method, by all who have no right there: nothing is shown, nothing changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from integration.hostile.users.built_place import building_place
from integration.hostile.users.place import Place, forget_guesses, read_tables
from integration.hostile.users.routes import BEFORE_DJANGO, ROUTES, Right, list_routes
from integration.service.api_users import ApiUser
from integration.service.fleets import join

from datamill.service.models import ApiKey, EnrolmentToken
from datamill.service.serving import asgi

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
WITH_BODY = ("POST", "PUT", "PATCH", "DELETE")
#: Refused, sent to the login page, no such method, or a body that is none; never shown, never done.
DENIED = {302, 400, 401, 403, 404, 405, 422}
#: In Ada's experiment, its trial, its record and its file.
PRIVATE = (b"two-loops", b"Which is faster?")

#: Who tries -> rights that they have in Ada's fleet.
RIGHTS: dict[str, set[Right]] = {
    "a stranger": {"open"},
    "a void key": {"open"},
    "a revoked key": {"open"},
    "a worker's key": {"open", "worker"},
    "the session of a closed account": {"open"},
    "the key of a closed account": {"open"},
    "another user's session": {"open", "member"},
    "another user's key": {"open", "member"},
}


@pytest.fixture(scope="module")
def built_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with building_place(tmp_path_factory.mktemp("place")) as place:
        yield place


@pytest.fixture
def place(built_place: Place) -> Iterator[Place]:
    """Ada's private experiment, with a trial that has left a record and a file, and a machine of Carol's."""
    built_place.restore()
    yield built_place
    forget_guesses()


def make_client(who: str, *, strict: bool = False) -> Client:
    """Return the browser or program of somebody; a strict one is checked for forged requests."""
    if who == "a stranger":
        return Client(enforce_csrf_checks=strict)
    if who == "a void key":
        return Client(enforce_csrf_checks=strict, headers={"Authorization": "Bearer dmk_" + "0" * 43})
    if who == "a worker's key":
        key = join("two", owner="ada").api_key
        return Client(enforce_csrf_checks=strict, headers={"Authorization": f"Bearer {key}"})
    user = ApiUser("eve")
    if "key" in who:
        client = Client(enforce_csrf_checks=strict, headers={"Authorization": f"Bearer {user.key}"})
    else:
        client = Client(enforce_csrf_checks=strict)
        client.force_login(user.user)
    if who == "a revoked key":
        ApiKey.objects.filter(user=user.user).update(revoked_unix_s=1.0)
    if "closed" in who:
        user.user.is_active = False
        user.user.save()
    return client


def has_right(who: str, route: str, method: str) -> bool:
    read, change = ROUTES[route]
    # Where a page does not ask for the method, any other does what one of these two does.
    needed = {"GET": {read}, "HEAD": {read}, "POST": {change}}.get(method, {read, change})
    return bool(needed & RIGHTS[who])


def test_every_route_has_a_line_that_says_who_may_do_what() -> None:
    found = set(list_routes())
    assert found - set(ROUTES) == set(), "say in routes.py who may read and who may change what is new"
    assert set(ROUTES) - found == set(), "these are no routes any more"


def test_what_is_answered_before_django_has_a_line_as_well() -> None:
    source = Path(asgi.__file__).read_text()
    compared = set(re.findall(r'path(?: == |\.startswith\()"([^"]+)"', source))
    assert compared == BEFORE_DJANGO


@pytest.mark.parametrize("who", RIGHTS)
def test_nobody_sees_or_changes_anything_without_a_right(place: Place, who: str) -> None:
    client = make_client(who)
    client.raise_request_exception = False
    before = read_tables()
    tried = 0
    for route in ROUTES:
        path = place.fill_route(route)
        for method in METHODS:
            if has_right(who, route, method):
                continue
            forget_guesses()
            answer = client.generic(method, path, b"{}", content_type="application/json")
            told = b"".join(answer) if answer.streaming else answer.content
            allowed = DENIED | ({200, 204} if method == "OPTIONS" else set())
            assert answer.status_code in allowed, (method, path, answer.status_code)
            assert not any(word in told for word in PRIVATE), (method, path)
            tried += 1
    assert tried > 200
    assert read_tables() == before


@pytest.mark.parametrize("who", ["the owner", "an administrator"])
def test_who_has_a_right_is_never_answered_with_a_failure_of_the_coordinator(place: Place, who: str) -> None:
    user = ApiUser("ada2", admin=True).user if who == "an administrator" else None
    clients = make_browsers(user.username if user else "ada")
    for route in ROUTES:
        client = clients()
        for method in METHODS:
            # A stream of an experiment that goes on has no end to wait for.
            if route.endswith("/stream") and method in ("GET", "HEAD", "OPTIONS"):
                continue
            # What asks without a body is asked once.
            for body, kind in BODIES if method in WITH_BODY else BODIES[:1]:
                # Some of these end the session.
                client = clients() if route == "logout" else client
                answer = client.generic(method, place.fill_route(route), body, content_type=kind)
                assert answer.status_code < 500, (method, route, body, answer.content[:300])


#: Nothing, a body of no sense, one of the wrong kind, one that is not even text.
BODIES = (
    (b"", "application/json"),
    (b"{}", "application/json"),
    (b"\xff\x00[", "application/json"),
    (b"a=\xff&b=%00&password=%ff", "application/x-www-form-urlencoded"),
    (b"--x\r\n", "multipart/form-data; boundary=x"),
)


def make_browsers(name: str) -> Callable[[], Client]:
    """Return what makes a browser in which somebody is logged in: one of the routes ends the session."""

    def make() -> Client:
        client = Client(raise_request_exception=False)
        client.force_login(User.objects.get(username=name))
        return client

    return make


def test_tokens_are_worth_nothing_twice_expired_or_guessed(place: Place) -> None:
    assert place
    before = EnrolmentToken.objects.count()
    for token in ("", "x", "0" * 48, "0" * 48 + ".plain"):
        answer = Client().post("/api/workers/enrol", {"token": token}, content_type="application/json")
        assert answer.status_code in (400, 401, 403), answer.content
    assert EnrolmentToken.objects.count() == before
