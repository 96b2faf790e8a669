"""While the storage of files is away, pages say so with status 503, and their parts ask again."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client
from integration.service.answers.measured_versions import MeasuredVersions
from integration.service.api_users import TEXT

from datamill.service.files.store import AwayError, DamagedFileError, FullDiskError

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")
PAGES = "datamill.service.pages"
AWAY = "the storage of files cannot be used just now"
#: What asks for something that may lie in a storage, and what asks it there.
PARTS = {
    "/compare/results?id=1&id=2": f"{PAGES}.experiments.again.results.compare_results",
    "/compare?id=1&id=2": f"{PAGES}.experiments.again.versions.find_common_ground",
    "/experiments/1/answer": f"{PAGES}.experiments.answers.answer_when_due",
    "/experiments/1/analysis?verb=summary": f"{PAGES}.experiments.analysis.analyze_experiment",
    "/experiments/1/verdict": f"{PAGES}.experiments.listing.answer_experiment",
    "/experiments/1/elsewhere": f"{PAGES}.experiments.elsewhere.read_times",
    "/experiments/1/reruns": f"{PAGES}.experiments.again.reruns.judge_rerun",
    "/experiments/1/rerun?form=one": f"{PAGES}.experiments.again.reruns.plan_within",
    "/experiments/new/space/preview?name=x&p=p1@PACKAGE": f"{PAGES}.new_experiment.steps.read_draft",
}


@pytest.fixture
def fleet() -> MeasuredVersions:
    return MeasuredVersions(1.0, 1.1)


def go_away(fleet: MeasuredVersions, path: str, monkeypatch: pytest.MonkeyPatch, problem: AwayError) -> str:
    """Have what a page asks meet the problem; return the page's address."""
    if path == "/experiments/1/reruns":
        from datamill.service.publishing.reproductions import enter_rerun

        enter_rerun(fleet.numbers[1], fleet.numbers[0], 0.05)

    def refuse(*_: object, **__: object) -> Any:
        raise problem

    if path == "/experiments/1/verdict":
        monkeypatch.setattr(f"{PAGES}.experiments.listing.recall_verdict", lambda _: None)
    monkeypatch.setattr(PARTS[path], refuse)
    return path.replace("PACKAGE", fleet.body["packages"][0]["sha256"])


def ask(fleet: MeasuredVersions, path: str, **headers: str) -> Any:
    client = Client(headers=headers)
    client.force_login(fleet.ada.user)
    return client.get(path)


@pytest.mark.parametrize("path", PARTS)
def test_a_part_says_so_in_its_place_and_is_asked_for_again(
    fleet: MeasuredVersions, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = go_away(fleet, path, monkeypatch, AwayError(AWAY))
    answer = ask(fleet, asked, **{"HX-Request": "true", "HX-Target": "result"})
    told = html.unescape(answer.content.decode())
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert "The storage of files cannot be used just now. Nothing is lost." in told
    assert re.search(r'^<div id="result" [^>]*hx-trigger="load delay:30s"', told)
    assert f'hx-get="{asked}"' in told


@pytest.mark.parametrize("path", PARTS)
def test_a_whole_page_says_so_too(
    fleet: MeasuredVersions, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ask(fleet, go_away(fleet, path, monkeypatch, AwayError(AWAY)))
    told = html.unescape(answer.content.decode())
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert "he storage of files cannot be used just now" in told
    assert "Nothing is lost" in told


@pytest.mark.parametrize(
    ("problem", "remedy"),
    [
        (DamagedFileError("a file is damaged in the storage"), "from a backup"),
        (FullDiskError(), "when its owner made room"),
    ],
)
def test_what_is_to_be_done_is_told_with_it(
    fleet: MeasuredVersions, problem: AwayError, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = go_away(fleet, "/experiments/1/answer", monkeypatch, problem)
    answer = ask(fleet, asked, **{"HX-Request": "true"})
    assert (answer.status_code, remedy in answer.content.decode()) == (503, True)
    assert " id=" not in answer.content.decode()


def test_what_was_typed_stays_when_it_cannot_be_looked_at(
    fleet: MeasuredVersions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Any:
        raise AwayError(AWAY)

    monkeypatch.setattr("datamill.service.pages.new_experiment.draft_files.describe_files", refuse)
    client = Client(headers={"HX-Request": "true", "HX-Target": "draft"})
    client.force_login(fleet.ada.user)
    sent = {"text": TEXT}
    part = client.post("/experiments/new/file", sent)
    assert (part.status_code, part["Retry-After"]) == (503, "30")
    # It is the part itself, which the next typing replaces.
    assert part.content.decode().lstrip().startswith('<div id="draft">')
    assert AWAY in part.content.decode().lower()
    whole = Client()
    whole.force_login(fleet.ada.user)
    page = whole.post("/experiments/new/file", sent)
    assert (page.status_code, "replicates" in page.content.decode()) == (503, True)
