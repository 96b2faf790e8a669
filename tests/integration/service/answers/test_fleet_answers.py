"""What an experiment of the fleet says: on its page, over the API, and in the bundle that is taken home."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest
from django.test import Client
from integration.service.small_fleet import Fleet

import datamill
from datamill.service.answers import answering
from datamill.service.bounded_work.turns import BusyError

pytestmark = pytest.mark.usefixtures("data_folder")


@pytest.mark.usefixtures("database")
def test_page_api_and_bundle_say_the_same(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.finish()
    status, told = fleet.ada.get(f"/experiments/{fleet.number}/answer")
    assert status == 200
    fleet.fetch(tmp_path / "bundle")
    assert told == json.loads(datamill.answer(tmp_path / "bundle").json())
    assert told["n"] == 8
    client = Client()
    client.force_login(fleet.ada.user)
    page = client.get(f"/experiments/{fleet.number}").content.decode()
    assert f'hx-get="/experiments/{fleet.number}/answer"' in page
    for headers in ({}, {"HX-Request": "true"}):
        shown = client.get(f"/experiments/{fleet.number}/answer", headers=headers).content.decode()
        assert ("<html" in shown) == (not headers)
        for sentence in (*told["answer"], *told["mattered"], *told["warnings"]):
            assert sentence in html.unescape(shown)


@pytest.mark.usefixtures("database")
def test_an_experiment_without_ended_trials_has_no_answer_and_says_so() -> None:
    fleet = Fleet()
    status, told = fleet.ada.get(f"/experiments/{fleet.number}/answer")
    assert status == 409
    assert told["message"] == "not before the end: 0 of 8 trials have counted"
    assert "once, when all have ended" in told["remedy"]
    client = Client()
    client.force_login(fleet.ada.user)
    page = client.get(f"/experiments/{fleet.number}").content.decode()
    # The part is there, to be filled while the page is open; nobody is led to what is not there yet.
    assert "It comes when trials have been counted." in page
    assert 'hx-trigger="load"' not in page
    assert f'href="/experiments/{fleet.number}/answer"' not in page


@pytest.mark.usefixtures("database")
def test_an_answer_is_made_once_and_only_when_all_trials_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet()
    made = []
    call = answering.call_bounded

    def count(*arguments: object) -> object:
        made.append(arguments)
        return call(*arguments)

    monkeypatch.setattr(answering, "call_bounded", count)
    answering._kept.clear()
    for _ in range(2):
        fleet.ada.get(f"/experiments/{fleet.number}/answer")
    assert made == []
    fleet.finish()
    for _ in range(2):
        fleet.ada.get(f"/experiments/{fleet.number}/answer")
    assert len(made) == 1


@pytest.mark.usefixtures("memory_database")
def test_a_part_of_a_page_that_has_to_wait_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet()
    fleet.finish()

    def be_busy(*_: object) -> None:
        raise BusyError("too many wait already", remedy="Try again in 5 seconds.")

    monkeypatch.setattr("datamill.service.pages.experiments.answers.answer_when_due", be_busy)
    client = Client()
    client.force_login(fleet.ada.user)
    address = f"/experiments/{fleet.number}/answer?x=1&y=2"
    whole = client.get(address)
    assert (whole.status_code, whole["Retry-After"]) == (429, "5")
    part = client.get(address, headers={"HX-Request": "true"})
    assert part.status_code == 200
    page = part.content.decode()
    assert 'hx-trigger="load delay:5s"' in page
    assert f'hx-get="{html.escape(address)}"' in page
    assert "asked for again in 5 seconds" in page
