"""What pages of results do, programs do too: publish, read, take home, withdraw, and find the source."""

from __future__ import annotations

import hashlib

import pytest
from integration.service.api_users import TEXT, ApiUser
from integration.service.publishing.test_publications import HEADLINE, enter_publication
from integration.service.small_fleet import Fleet

from datamill.service.answers import answering
from datamill.service.files.disk import name_stored_file
from datamill.service.models import FleetExperiment, Publication
from datamill.service.publishing import archives

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")
SAID = {"title": "Which is faster?", "authors": ["Doe, Jane", "The Lab"], "licence": "MIT"}


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """Numbers of experiments begin anew in each test."""
    answering._kept.clear()
    archives._checked.clear()


def test_a_result_is_published_read_taken_home_and_withdrawn() -> None:
    fleet, bob = Fleet(), ApiUser("bob")
    path = f"/experiments/{fleet.number}/publish"
    assert fleet.ada.post(path, SAID)[0] == 400, "it has not ended"
    fleet.finish()
    assert fleet.ada.post(path, SAID | {"licence": "mine"})[0] == 400
    assert fleet.ada.post(path, SAID | {"authors": []})[0] == 422
    assert bob.post(path, SAID)[0] == 404
    status, made = fleet.ada.post(path, SAID | {"hold_back": ["artifacts"]})
    assert (status, made["authors"], made["licence"]) == (200, ["Jane Doe", "The Lab"], "MIT")
    assert bob.post(path, SAID)[0] == 403, "it is public now, and still not bob's"
    status, said = bob.get(f"/publications/{made['key']}/answer")
    assert (status, said["headline"], said["trials"]) == (200, made["headline"], 8)
    assert (said["n"], len(said["machines"])) == (8, 2)
    archive = bob.read(f"/publications/{made['key']}/archive")
    assert hashlib.sha256(archive).hexdigest() == made["sha256"] == said["sha256"]
    withdrawal = f"/publications/{made['key']}/withdraw"
    assert bob.post(withdrawal, {"reason": "no"})[0] == 403
    assert fleet.ada.post(withdrawal, {"reason": " "})[0] == 400
    status, gone = fleet.ada.post(withdrawal, {"reason": "The clock was wrong."})
    assert (status, gone["withdrawn"], gone["headline"]) == (200, "The clock was wrong.", "")
    status, refused = bob.get(f"/publications/{made['key']}/answer")
    assert (status, "The clock was wrong." in refused["message"]) == (410, True)
    assert not FleetExperiment.objects.get(pk=fleet.number).public


def test_of_a_damaged_archive_no_number_is_told() -> None:
    fleet, published = enter_publication()
    assert fleet.ada.get(f"/publications/{published.key}/answer")[1]["headline"] == HEADLINE
    name_stored_file(published.sha256).write_bytes(b"another archive of a length")
    for part in ("answer", "archive"):
        status, told = fleet.ada.get(f"/publications/{published.key}/{part}")
        assert (status, "damaged" in told["message"]) == (503, True)


def test_publications_come_in_pages_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, first = enter_publication()
    monkeypatch.setattr("datamill.service.api.answers.publications._MOST_PUBLICATIONS", 2)
    for number in range(4):
        first.pk = f"{number:012x}"
        # Two of the same moment are told apart by their keys.
        first.published_unix_s = 1.8e9 + number // 2
        first.save(force_insert=True)
    seen: list[str] = []
    while page := fleet.ada.get("/publications", after=seen[-1] if seen else "")[1]:
        assert len(page) <= 2
        seen += [item["key"] for item in page]
    assert seen == [item.key for item in Publication.objects.order_by("-published_unix_s", "key")]
    assert fleet.ada.get("/publications", after="nothing")[0] == 404


def test_the_source_of_an_experiment_is_for_those_who_may_see_it() -> None:
    fleet, bob = Fleet(), ApiUser("bob")
    assert bob.get(f"/experiments/{fleet.number}/source")[0] == 404
    FleetExperiment.objects.update(public=True)
    status, found = bob.get(f"/experiments/{fleet.number}/source")
    assert (status, found["text"], found["owner"]) == (200, TEXT, "ada")
    sent = {item["name"]: item["sha256"] for item in fleet.body["packages"]}
    assert {item["name"]: item["sha256"] for item in found["packages"]} == sent
