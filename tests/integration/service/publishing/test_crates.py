"""Experiments taken home as research objects, before and after they are published."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from integration.service.api_users import ApiUser
from integration.service.publishing.test_publications import FORM, log_in, publish
from integration.service.small_fleet import Fleet
from reference.crates.validator import NO_ORGANISATION, SOFTWARE_HAS_NO_ADDRESS, validate_crate

from datamill.results.bundles.opening import open_bundle
from datamill.results.crates.reading import unpack_crate
from datamill.service.answers import answering
from datamill.service.models import Publication
from datamill.service.publishing import archives
from datamill.service.watching.places import BUNDLES

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")
PAGE, API = "/experiments/{}/crate", "/api/experiments/{}/crate"


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """Numbers of experiments begin anew in each test."""
    answering._kept.clear()
    archives._checked.clear()


@pytest.fixture
def fleet() -> Fleet:
    """Ada's experiment, whose trials have all ended."""
    made = Fleet()
    made.finish()
    return made


def take(client: Client, path: str, target: Path) -> Path:
    answer = client.get(path)
    assert answer.status_code == 200, answer.content
    content = b"".join(answer)
    assert answer["Content-Type"] == "application/zip"
    assert int(answer["Content-Length"]) == len(content)
    target.write_bytes(content)
    return target


def read_entities(crate: Path) -> dict[str, dict[str, object]]:
    with zipfile.ZipFile(crate) as archive:
        return {item["@id"]: item for item in json.loads(archive.read("ro-crate-metadata.json"))["@graph"]}


def make_program(user: ApiUser) -> Client:
    return Client(headers={"Authorization": f"Bearer {user.key}"})


@pytest.mark.parametrize("by_page", [True, False])
def test_an_experiment_is_taken_home_as_a_crate_before_it_is_published(
    fleet: Fleet, tmp_path: Path, by_page: bool
) -> None:
    client = log_in(fleet.ada) if by_page else make_program(fleet.ada)
    crate = take(client, (PAGE if by_page else API).format(fleet.number), tmp_path / "taken.zip")
    unpack_crate(crate, tmp_path / "taken")
    fleet.fetch(tmp_path / "bundle")
    taken, made = open_bundle(tmp_path / "taken"), open_bundle(tmp_path / "bundle")
    assert taken.read_records() == made.read_records()
    entities = read_entities(crate)
    # Its authors have not said what others may do with it, and nobody says so for them.
    assert entities["./"]["license"] == {"@id": "#licence"}
    assert "Ask its authors" in str(entities["#licence"]["description"])
    assert "identifier" not in entities["./"]
    assert entities["#author-1"]["name"] == "ada"
    assert "license:" not in (tmp_path / "taken" / "CITATION.cff").read_text()
    assert not Publication.objects.exists()
    # It was made for this reader.
    assert list((Path(settings.DATA_FOLDER) / "files").glob(".making-*")) == []


def test_who_is_sent_a_crate_holds_a_place_until_it_was_sent(fleet: Fleet) -> None:
    client = make_program(fleet.ada)
    path = API.format(fleet.number)
    answers = [client.get(path) for _ in range(settings.MOST_BUNDLES_A_USER)]
    assert BUNDLES.taken == len(answers)
    assert client.get(path).status_code == 429
    for answer in answers:
        assert b"".join(answer)
    assert BUNDLES.taken == 0


def test_a_crate_for_which_the_disk_has_no_room_is_refused(fleet: Fleet) -> None:
    full = shutil.disk_usage("/")._replace(free=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda _: full)
        answer = make_program(fleet.ada).get(API.format(fleet.number))
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert "the coordinator's disk is full" in answer.json()["message"]
    assert BUNDLES.taken == 0


def test_only_what_has_ended_is_a_crate_and_only_for_those_who_may_read_it() -> None:
    fleet = Fleet()
    for client, path in ((log_in(fleet.ada), PAGE), (make_program(fleet.ada), API)):
        answer = client.get(path.format(fleet.number))
        assert (answer.status_code, b"ot before the end" in answer.content) == (409, True)
    fleet.finish()
    bob = ApiUser("bob")
    for client, path in ((log_in(bob), PAGE), (make_program(bob), API)):
        assert client.get(path.format(fleet.number)).status_code == 404
    page = log_in(fleet.ada).get(f"/experiments/{fleet.number}").content.decode()
    assert PAGE.format(fleet.number) in page


def test_the_validator_accepts_what_the_site_sends(fleet: Fleet, tmp_path: Path) -> None:
    crate = take(log_in(fleet.ada), PAGE.format(fleet.number), tmp_path / "taken.zip")
    found = validate_crate(crate, tmp_path)
    assert found.missing == set(), found.told
    assert found.not_followed == SOFTWARE_HAS_NO_ADDRESS | NO_ORGANISATION, found.told
    answer, published = publish(fleet, organisation="The Lab <https://lab.example>")
    assert published is not None, answer.content.decode()
    archive = take(Client(), f"/publications/{published.key}/archive.zip", tmp_path / "published.zip")
    found = validate_crate(archive, tmp_path)
    assert found.missing == set(), found.told
    assert found.not_followed == SOFTWARE_HAS_NO_ADDRESS, found.told
    assert read_entities(archive)["./"]["publisher"] == {"@id": "https://lab.example"}
    assert "The Lab" in Client().get(f"/publications/{published.key}").content.decode()


def test_an_organisation_that_cannot_be_read_is_refused_and_stays_typed(fleet: Fleet) -> None:
    answer, published = publish(fleet, organisation="The Lab <ftp://lab.example>")
    assert (answer.status_code, published) == (400, None)
    page = answer.content.decode()
    assert "cannot be read" in page
    assert "The Lab &lt;ftp://lab.example&gt;" in page
    said = {"title": FORM["title"], "authors": ["Doe, Jane"], "organisation": "<https://lab.example>"}
    assert fleet.ada.post(f"/experiments/{fleet.number}/publish", said)[0] == 400
