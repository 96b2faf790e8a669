"""A stranger who guesses passwords: by other spellings, from many addresses of one network, all at once."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event as Flag

import hypothesis
import pytest
from django.contrib.auth.forms import AuthenticationForm, UsernameField
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import strategies as some

from datamill.service.accounts import make_user
from datamill.service.front_door.visitors import guesses
from datamill.service.front_door.visitors.addresses import name_origin
from datamill.service.models import Event
from datamill.service.pages.accounts import account, login

PASSWORD = "correct horse battery staple"
#: What the sign-in takes for the account `admin` or what a person would take for it.
SPELLINGS = (
    "admin", "admin ", " admin", "\tadmin\n", "\u2003admin\u00a0", " " * 300 + "admin", "admin" + " " * 300,
    "ａｄｍｉｎ", "ａdmin", "ⓐdmin", "𝐚dmin", "adm\u2071n", "ADMIN", "Admin", "ＡＤＭＩＮ", "admin\0",
)  # fmt: skip


@pytest.fixture(autouse=True)
def sign_in(memory_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    assert memory_database == "sqlite"
    with pytest.MonkeyPatch.context() as patch:
        from django.conf import settings

        patch.setattr(settings, "PASSWORD_HASHERS", ["django.contrib.auth.hashers.MD5PasswordHasher"])
        monkeypatch.setattr(
            login, "PASSWORDS", guesses.GuessLimit(guesses.MOST_FOR_ACCOUNT, guesses.MOST_FROM_ORIGIN)
        )
        make_user("admin", PASSWORD, admin=True)
        yield


def try_password(name: str, password: str = "wrong", address: str = "192.0.2.1") -> int:
    data = {"username": name, "password": password}
    return int(Client().post("/login", data, REMOTE_ADDR=address).status_code)


def test_no_spelling_of_an_account_gives_further_tries() -> None:
    told = [try_password(SPELLINGS[number % len(SPELLINGS)]) for number in range(40)]
    assert told == [200] * guesses.MOST_FOR_ACCOUNT + [429] * (40 - guesses.MOST_FOR_ACCOUNT)
    assert try_password("admin", PASSWORD) == 429
    # Told once, of the account and not of how it was spelt.
    assert [event.user for event in Event.objects.filter(kind="logins refused")] == ["admin"]
    # From elsewhere the owner is not locked out, and is let in by another spelling as before.
    assert try_password("ａdmin ", PASSWORD, "192.0.2.2") == 302


def test_the_old_password_is_guessed_no_faster_at_a_browser_that_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(account, "PASSWORDS", login.PASSWORDS)
    client = Client()
    client.force_login(User.objects.get(username="admin"))
    new = dict.fromkeys(("new_password1", "new_password2"), "an even longer password")

    def change(old: str) -> int:
        return int(client.post("/account/password", {"old_password": old, **new}).status_code)

    told = [change(f"guess {number}") for number in range(guesses.MOST_FOR_ACCOUNT + 1)]
    assert told == [200] * guesses.MOST_FOR_ACCOUNT + [429]
    # Neither there nor at the sign-in is the right one looked at now, from this address.
    assert change(PASSWORD) == 429
    assert try_password("admin", PASSWORD, "127.0.0.1") == 429
    assert try_password("admin", PASSWORD) == 302


@functools.cache
def list_alike() -> dict[str, list[str]]:
    """All characters that NFKC and case folding take for each letter of the account; a second's search."""
    alike: dict[str, list[str]] = {letter: [] for letter in "admin"}
    for code in (*range(0xD800), *range(0xE000, 0x110000)):
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", chr(code)).casefold())
        if folded in alike:
            alike[folded].append(chr(code))
    return alike


def spell_account() -> some.SearchStrategy[tuple[str, ...]]:
    return some.tuples(*(some.sampled_from(list_alike()[letter]) for letter in "admin"))


SPACES = some.text(some.sampled_from([chr(c) for c in range(0x3001) if chr(c).isspace()]), max_size=4)


@hypothesis.settings(deadline=None, database=None, max_examples=300)
@hypothesis.given(
    before=SPACES,
    after=SPACES,
    # Not before it runs: every process that collects tests would search.
    letters=some.deferred(spell_account),
)
def test_whatever_looks_up_an_account_counts_as_it(before: str, after: str, letters: tuple[str, ...]) -> None:
    assert min(len(found) for found in list_alike().values()) > 10
    typed = before + "".join(letters) + after
    assert guesses.name_account(typed) == "admin"


@hypothesis.settings(deadline=None, database=None, max_examples=300)
@hypothesis.given(one=some.text(max_size=12), other=some.text(max_size=12))
@hypothesis.example("ﬁnn", "finn")
@hypothesis.example("ẞ", "ss")
@hypothesis.example("İ", "i̇")
def test_two_texts_of_one_account_count_as_one(one: str, other: str) -> None:
    looked_up = [
        UsernameField().clean(text) if text.strip() and "\0" not in text else "" for text in (one, other)
    ]
    if looked_up[0] == looked_up[1] != "":
        assert guesses.name_account(one) == guesses.name_account(other)


def test_tries_at_once_are_no_more_than_tries_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []
    go_on = Flag()

    def look(form: AuthenticationForm) -> bool:
        looked_at.append(form)
        go_on.wait(20)
        return False

    # Without the database: what counts is how many passwords are looked at before one is known to be wrong.
    monkeypatch.setattr(AuthenticationForm, "is_valid", look)
    monkeypatch.setattr(login.ThrottledLogin, "form_invalid", lambda *_: login.HttpResponse(status=200))
    monkeypatch.setattr(login, "HASHING", guesses.HashingQueue(50, 0, 1.0))
    monkeypatch.setattr(login.ThrottledLogin, "_refuse", lambda *_, **__: login.HttpResponse(status=429))
    with ThreadPoolExecutor(30) as pool:
        answers = [pool.submit(try_password, "admin", f"guess{number}") for number in range(30)]
        refused = [answer for answer in answers if _is_refused(answer)]
        go_on.set()
        told = sorted(answer.result() for answer in answers)
    assert len(refused) == 30 - guesses.MOST_FOR_ACCOUNT
    assert told == [200] * guesses.MOST_FOR_ACCOUNT + [429] * (30 - guesses.MOST_FOR_ACCOUNT)
    assert len(looked_at) == guesses.MOST_FOR_ACCOUNT


def _is_refused(answer: object) -> bool:
    try:
        answer.result(0.5)  # type: ignore[attr-defined]
    except TimeoutError:
        return False
    return True


def test_few_passwords_are_hashed_at_once_and_the_rest_is_told_to_come_again() -> None:
    queue = guesses.HashingQueue(most=1, most_waiting=1, patience_s=0.05)
    with queue.turn() as first:
        assert first
        with queue.turn() as second:
            assert not second
    with queue.turn() as third:
        assert third


def test_a_busy_sign_in_takes_no_try_and_says_when_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "HASHING", guesses.HashingQueue(1, 0, 0.05))
    with login.HASHING.turn():
        answer = Client().post("/login", {"username": "admin", "password": PASSWORD})
    assert answer.status_code == 503
    assert int(answer["Retry-After"]) > 0
    assert [try_password("admin") for _ in range(9)] == [200] * 8 + [429]


def test_an_account_that_is_not_there_costs_a_try_as_much_time(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = []
    from django.contrib.auth import hashers

    real = hashers.MD5PasswordHasher.encode

    def encode(self: hashers.MD5PasswordHasher, password: str, salt: str) -> str:
        hashed.append(password)
        return real(self, password, salt)

    monkeypatch.setattr(hashers.MD5PasswordHasher, "encode", encode)
    User.objects.create_user("closed", password="x" * 12, is_active=False)
    counts = {}
    for name in ("admin", "closed", "nobody"):
        hashed.clear()
        assert try_password(name, address=f"192.0.2.{len(name)}") == 200
        counts[name] = len(hashed)
    assert len(set(counts.values())) == 1, counts


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:ffff:ffff:ffff", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::1"),
        ("", ""),
    ],
)
def test_addresses_of_one_network_of_ipv6_are_one_origin(address: str, origin: str) -> None:
    assert name_origin(address) == origin
