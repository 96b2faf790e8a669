"""Programs find what pages list: packages with their contents, experiments by words, long lists by pages."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from django.test import Client
from integration.service.api_users import TEXT, ApiUser, make_package, make_submission, pack, store
from integration.service.fleets import join
from integration.service.small_fleet import Fleet

from datamill.cli.fleet.workers import list_workers
from datamill.protocol.api.fleet.workers import WorkerLine
from datamill.service.api.answers import publications
from datamill.service.api.fleet import packages, workers
from datamill.service.files.store import AwayError
from datamill.service.models import FleetExperiment, Rerun, StoredFile
from datamill.service.packages import contents

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")
#: The package that the fleet's experiment has under this name.
P1 = hashlib.sha256(make_package("# p1\n")).hexdigest()


def test_packages_are_listed_with_who_used_them_to_those_who_may_see_them() -> None:
    fleet, bob = Fleet(), ApiUser("bob")
    status, told = fleet.ada.get("/packages", name="p1")
    assert (status, told["next"]) == (200, None)
    (line,) = told["packages"]
    assert (line["sha256"], line["owner"], line["users"], line["uses"]) == (P1, "ada", ["ada"], 1)
    assert [item["name"] for item in fleet.ada.get("/packages", search="p2 ada")[1]["packages"]] == ["p2"]
    assert bob.get("/packages")[1]["packages"] == []
    assert bob.get(f"/packages/{P1}")[0] == 404
    FleetExperiment.objects.update(public=True)
    assert {item["name"] for item in bob.get("/packages")[1]["packages"]} == {"p1", "p2"}
    assert bob.get("/packages", mine="true")[1]["packages"] == []
    assert bob.get(f"/packages/{P1}")[1]["experiments"][0]["experiment"] == fleet.number


def test_a_word_too_many_to_search_for_is_refused_and_not_passed_over() -> None:
    ada = ApiUser("ada")
    browser = Client(headers={"Authorization": f"Bearer {ada.key}"})
    browser.force_login(ada.user)
    pages = ("/experiments", "/experiments/new/from", "/packages", "/workers", "/factors", "/publications")
    for path in ("/api/experiments", "/api/packages", *pages):
        assert browser.get(path, {"search": "a b c d e f g h"}).status_code == 200, path
        refused = browser.get(path, {"search": "a b c d e f g h i"})
        assert refused.status_code == 400, path
        assert "9 words are too many to search for" in refused.content.decode(), path


def test_a_package_has_its_files_and_scripts_or_why_it_cannot_be_read() -> None:
    ada = ApiUser("ada")
    content = pack({"run.sh": b"#!/bin/sh\necho hello\n", "data/words": b"one two"})
    status, told = ada.get(f"/packages/{store(content, ada.user, 'words')}")
    assert status == 200
    assert [(item["name"], item["text"], item["cut"]) for item in told["scripts"]] == [
        ("run.sh", "#!/bin/sh\necho hello\n", False)
    ]
    assert {item["name"] for item in told["files"]} == {"run.sh", "data/words"}
    assert (told["file_count"], told["problem"], told["experiments"]) == (2, "", [])
    status, told = ada.get(f"/packages/{store(b'no archive at all', ada.user, 'words')}")
    assert (status, told["file_count"]) == (200, 0)
    assert told["problem"].startswith("the archive cannot be read")
    assert ada.get("/packages/none")[0] == 422


def test_a_package_whose_storage_does_not_answer_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_file(_: str) -> None:
        raise AwayError("the storage of files does not answer")

    monkeypatch.setattr(contents, "find_file", find_file)
    ada = ApiUser("ada")
    sha256 = store(make_package("# away\n"), ada.user, "away")
    browser = Client(headers={"Authorization": f"Bearer {ada.key}"})
    browser.force_login(ada.user)
    for path in (f"/api/packages/{sha256}", f"/packages/{sha256}"):
        answer = browser.get(path)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")


def test_packages_come_page_by_page_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "_MOST_ROWS", 2)
    ada = ApiUser("ada")
    digests = {store(make_package(f"# {number}\n"), ada.user, "p") for number in range(5)}
    # Three came at the same time.
    StoredFile.objects.filter(pk__in=sorted(digests)[:3]).update(stored_unix_s=1.0)
    found: list[Any] = []
    after = ""
    while True:
        page = ada.get("/packages", after=after)[1]
        found += page["packages"]
        if page["next"] is None:
            break
        after = page["next"]
    assert [item["sha256"] for item in found[2:]] == sorted(digests)[:3]
    assert {item["sha256"] for item in found} == digests
    assert len(found) == 5
    assert ada.get("/packages", after="0" * 64)[0] == 404


def test_experiments_are_found_by_what_is_in_their_file_and_who_ran_them() -> None:
    fleet = Fleet()
    other = TEXT.replace("two-loops", "another").replace("Which is faster?", "How long?")
    number = fleet.ada.post("/experiments", make_submission(fleet.ada.user, other))[1]["id"]

    def search(words: str) -> list[int]:
        return [item["id"] for item in fleet.ada.get("/experiments", search=words)[1]]

    assert search("") == [number, fleet.number]
    assert search("two-loops faster") == [fleet.number]
    assert search("ANOTHER p1 slow") == [number]
    assert search("unheard-of") == []
    assert fleet.ada.get("/experiments", search="a" * 201)[0] == 422


class ByApi:
    """What the command asks, answered by the coordinator of this process."""

    def __init__(self, user: ApiUser) -> None:
        self._user = user

    def get(self, path: str, _kind: object, **asked: Any) -> list[WorkerLine]:
        status, told = self._user.get(path, **asked)
        assert status == 200
        return [WorkerLine(**item) for item in told]


def test_machines_come_page_by_page_and_the_command_lists_all(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = ApiUser("ada")
    for name in ("b", "c", "a", "e", "d"):
        join(name)
    assert [item["name"] for item in ada.get("/workers", after="c")[1]] == ["d", "e"]
    monkeypatch.setattr(workers, "MOST_ROWS", 2)
    monkeypatch.setattr("datamill.cli.fleet.workers._PAGE", 2)
    assert [item["name"] for item in ada.get("/workers")[1]] == ["a", "b"]
    assert [item.name for item in list_workers(ByApi(ada))] == ["a", "b", "c", "d", "e"]  # type: ignore[arg-type]


def test_reruns_come_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet()
    fleet.finish()
    made = [fleet.ada.post(f"/experiments/{fleet.number}/rerun", {})[1]["id"] for _ in range(3)]
    assert Rerun.objects.count() == 3
    monkeypatch.setattr(publications, "MOST_ROWS", 2)
    path = f"/experiments/{fleet.number}/reruns"
    assert [item["id"] for item in fleet.ada.get(path)[1]] == made[:0:-1]
    assert [item["id"] for item in fleet.ada.get(path, before=made[1])[1]] == made[:1]
