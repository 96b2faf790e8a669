"""Who may do what: every address, by everybody who comes to it, as the table says and not otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from integration.hostile.users.built_place import building_place
from integration.hostile.users.place import Place, count_writes, read_tables
from integration.hostile.users.rights_page import PAGE, PEOPLE_RIGHTS, format_page, may_do
from integration.hostile.users.routes import BEFORE_DJANGO, NAMED_IN_QUERIES, ROUTES, Right
from integration.hostile.users.samples import CHANGES, READS, Ask

from datamill.protocol.api.accounts import SCOPES
from datamill.service.api.scopes import find_scope

#: Who comes -> what the table of people calls them, and the only scope of the key that they bring.
VISITORS: dict[str, tuple[str, str]] = {
    "a stranger": ("anonymous", ""),
    "bob": ("another user", ""),
    "ada": ("the owner", ""),
    "a worker": ("a worker's key", ""),
    "carol": ("the machine's owner", ""),
    "root": ("an administrator", ""),
    **{f"ada for {scope}": ("the owner", scope) for scope in SCOPES},
    "carol for machines": ("the machine's owner", "machines"),
    **{f"root for {scope}": ("an administrator", scope) for scope in SCOPES},
}
#: Not known, not allowed, or as if there were none; pages send to the sign-in.
REFUSED = {401, 403, 404}
#: In Ada's experiments, what they left, and what is said of her package.
PRIVATE = ("two-loops", "Which is faster?", "run.sh printed", "it took two machines down")


@dataclass(frozen=True)
class Case:
    """A request that the table allows to some."""

    method: str
    route: str
    right: Right
    asked: Ask


def list_cases() -> Iterator[Case]:
    """Yield a case for each right of each line, and for what is named in queries."""
    for route, (read, change) in ROUTES.items():
        if read is not None:
            yield Case("GET", route, read, READS[route])
        if change is not None:
            yield from (Case("POST", route, change, asked) for asked in CHANGES[route])
    for address, right in NAMED_IN_QUERIES.items():
        route, _, query = address.partition("?")
        yield Case("GET", route, right, Ask("two-loops", query=query))


@pytest.fixture(scope="module")
def built_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with building_place(tmp_path_factory.mktemp("place")) as place:
        yield place


@pytest.fixture
def place(built_place: Place) -> Place:
    built_place.restore()
    return built_place


def test_every_right_has_a_request_that_is_sound() -> None:
    reads = {route for route, (read, _) in ROUTES.items() if read is not None}
    changes = {route for route, (_, change) in ROUTES.items() if change is not None}
    assert reads == set(READS), "say in samples.py what is asked there by GET, and what is answered"
    assert changes == set(CHANGES), "say in samples.py what is asked there by POST, and what is answered"
    assert all(case.asked.status < 400 for case in list_cases())


@pytest.mark.parametrize("who", VISITORS)
def test_everybody_may_do_what_the_table_says_and_nothing_else(place: Place, who: str) -> None:
    person, scope = VISITORS[who]
    before, wrong, tried = read_tables(), [], {True: 0, False: 0}
    for case in list_cases():
        # A key is for programs: to pages who brings it is a stranger.
        if scope and not case.route.startswith("api/"):
            continue
        allowed = may_do(person, case.right) and (
            not scope or case.right == "open" or find_scope(case.method, case.route) == scope
        )
        written = count_writes()
        answer, told = place.ask(who, case.method, case.route, case.asked)
        problem = find_unkept(place, case, answer, told) if allowed else find_leak(case, answer)
        # The key of Ada's feed shows what is hers to whoever brings it.
        if "visible" not in PEOPLE_RIGHTS[person] and "{feed}" not in case.asked.query:
            problem = problem or next((f"shows {word}" for word in PRIVATE if word in told), "")
        elif allowed and place.fill(case.asked.private) not in told:
            problem = problem or f"does not show {case.asked.private}"
        if count_writes() != written:
            if not allowed and read_tables() != before:
                problem += " changes something"
            place.restore()
        if problem:
            wrong.append(f"{case.method} {case.route} ({case.right}): {problem}: {told[:200]}")
        tried[allowed] += 1
    assert not wrong, "\n".join(wrong)
    # A stranger has some rights, and even an administrator lacks what is somebody's own.
    assert min(tried.values()) >= 3, tried


def find_unkept(place: Place, case: Case, answer: Any, told: str) -> str:
    """Return what is wrong with the answer to somebody who has the right; empty where nothing is."""
    if answer.status_code == 404:
        return "its address is filled with what is not there"
    if answer.status_code != case.asked.status:
        return f"is answered with {answer.status_code}"
    shown = answer["Location"] if answer.status_code == 302 else told
    if shown.startswith("/login?"):
        return "is sent to the sign-in"
    return "" if place.fill(case.asked.shows) in shown else f"does not show {case.asked.shows}"


def find_leak(case: Case, answer: Any) -> str:
    """Return what is wrong with the answer to somebody who lacks the right; empty where nothing is."""
    if answer.status_code == 302 and answer["Location"].startswith("/login?"):
        return ""
    # What a query names and cannot be shown is a mistake in the form that asks for it.
    refused = REFUSED | ({400} if case.asked.query else set())
    return "" if answer.status_code in refused else f"is not refused: {answer.status_code}"


def test_the_page_of_rights_is_what_was_tried() -> None:
    written = Path(__file__).parents[4] / PAGE
    assert written.read_text(encoding="utf-8") == format_page(), "make rights writes it"
    for address in BEFORE_DJANGO:
        assert address.rstrip("/") in format_page()
