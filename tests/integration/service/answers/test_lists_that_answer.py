"""The list of experiments says what each asked and what came out, and finds what is looked for."""

from __future__ import annotations

import html

import pytest
from django.test import Client
from integration.service.small_fleet import Fleet

from datamill.experiment.errors import InputError
from datamill.service.answers import answering

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")


def open_list(fleet: Fleet, **asked: str) -> str:
    client = Client()
    client.force_login(fleet.ada.user)
    return html.unescape(client.get("/experiments", asked, headers={"HX-Request": "true"}).content.decode())


def test_the_list_shows_the_question_and_once_it_is_known_the_verdict() -> None:
    answering._kept.clear()
    fleet = Fleet()
    assert "not before the end" in open_list(fleet)
    fleet.finish()
    listed = open_list(fleet)
    assert "Which is faster?" in listed
    assert f'hx-get="/experiments/{fleet.number}/verdict"' in listed
    client = Client()
    client.force_login(fleet.ada.user)
    told = html.unescape(client.get(f"/experiments/{fleet.number}/verdict").content.decode())
    headline = fleet.ada.get(f"/experiments/{fleet.number}/answer")[1]["answer"][0]
    assert headline in told
    # From now on it stands there at once, also after the coordinator was started anew.
    answering._kept.clear()
    listed = open_list(fleet)
    assert headline in listed
    assert "/verdict" not in listed


def test_an_answer_that_fails_is_kept_with_its_reason_until_somebody_tries_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering._kept.clear()
    fleet = Fleet()
    fleet.finish()
    calls = []

    def fail(*_: object) -> None:
        calls.append(1)
        raise InputError("the trials say nothing", remedy="Look at them.")

    with monkeypatch.context() as patch:
        patch.setattr(answering, "call_bounded", fail)
        client = Client()
        client.force_login(fleet.ada.user)
        for _ in range(3):
            told = client.get(f"/experiments/{fleet.number}/verdict").content.decode()
            assert "No answer: the trials say nothing." in told
            page = client.get(f"/experiments/{fleet.number}/answer").content.decode()
            assert "The trials say nothing. Look at them." in page
        listed = open_list(fleet)
        assert "the trials say nothing" in listed
        assert "/verdict" not in listed
        assert fleet.ada.get(f"/experiments/{fleet.number}/answer")[0] == 400
        assert len(calls) == 1
    assert client.post(f"/experiments/{fleet.number}/answer/again").status_code == 302
    assert fleet.ada.get(f"/experiments/{fleet.number}/answer")[0] == 200
    assert "the trials say nothing" not in open_list(fleet)


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("p1", True),
        ("FAST", True),
        ("wall_time two-loops", True),
        ("ada", True),
        ("p1 unheard-of", False),
        ("two-loops cycles", False),
    ],
    ids=["package", "machine", "response and name", "owner", "not all words", "another response"],
)
def test_a_search_looks_at_names_files_owners_and_machines(search: str, found: bool) -> None:
    fleet = Fleet()
    # The words that were asked for stand on the page in any case.
    assert (f'id="experiment-{fleet.number}"' in open_list(fleet, search=search)) is found
    if not found:
        assert "No experiment here has all of" in open_list(fleet, search=search)
