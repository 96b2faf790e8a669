"""The list of experiments says what each asked and what came out, and finds what is looked for."""

from __future__ import annotations

import html

import pytest
from django.test import Client
from integration.service.test_api_bundles import Fleet

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


@pytest.mark.parametrize(
    ("search", "found"),
    [("p1", True), ("FAST", True), ("wall_time two-loops", True), ("ada", True), ("p1 unheard-of", False)],
    ids=["package", "machine", "response and name", "owner", "not all words"],
)
def test_a_search_looks_at_names_files_owners_and_machines(search: str, found: bool) -> None:
    fleet = Fleet()
    assert ("two-loops" in open_list(fleet, search=search)) is found
    if not found:
        assert "No experiment here has all of" in open_list(fleet, search=search)
