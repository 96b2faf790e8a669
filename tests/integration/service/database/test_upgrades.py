"""What an earlier version left is there after an upgrade: people, answers, publications, trials under way."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from integration.service.database.earlier_version import (
    EarlierVersion,
    migrate_to_newest,
    put_earlier_version,
)
from integration.service.databases import empty_database
from integration.service.fleets import list_leases, say, tell_record

from datamill.service.answers import answering
from datamill.service.coordinator.messages.orders import mark_all_orders_unsent
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import (
    ApiKey,
    Attempt,
    ExperimentFile,
    FleetExperiment,
    Publication,
    Trial,
)
from datamill.service.publishing import archives


@dataclass(frozen=True)
class Upgraded:
    """A coordinator of today with the database and the files of an earlier version."""

    left: EarlierVersion

    def ask(self, path: str, who: str = "ada") -> tuple[int, str]:
        """What a browser of a user sees."""
        client = Client()
        if who:
            client.force_login(User.objects.get(username=who))
        answer = client.get(path, follow=True)
        content = b"".join(answer) if answer.streaming else answer.content
        return answer.status_code, html.unescape(content.decode())

    def call(self, path: str, who: str = "ada", **asked: str) -> tuple[int, object]:
        """What a program gets with the key that the user had."""
        client = Client(headers={"Authorization": f"Bearer {self.left.keys[who]}"})
        answer = client.get(f"/api{path}", asked)
        return answer.status_code, answer.json()


@pytest.fixture
def upgraded(database: str, data_folder: None) -> Iterator[Upgraded]:
    assert data_folder is None
    assert connection.vendor == database
    answering._kept.clear()
    archives._checked.clear()
    try:
        left = put_earlier_version(Path(settings.DATA_FOLDER))
        migrate_to_newest()
        archives.move_old_archives()
        yield Upgraded(left)
    finally:
        empty_database()
        call_command("migrate", verbosity=0)


def test_pages_of_what_was_there_are_as_they_were(upgraded: Upgraded) -> None:
    trial = Trial.objects.filter(experiment_id=1).earliest("pk").trial_id
    assert "two-loops" in upgraded.ask("/experiments")[1]
    pages = ("", "/trials", "/events", f"/trials/{trial}", "/analysis?verb=summary", "/rerun", "/reruns")
    for page in (*(f"/experiments/1{part}" for part in pages), "/experiments/2", "/compare?id=1&id=2"):
        status, told = upgraded.ask(page)
        assert (status, "two-loops" in told or "p1" in told) == (200, True), (page, told[:2000])
    for page in ("/workers", "/workers/fast", "/packages", "/queue", "/factors", "/account", "/notices"):
        assert upgraded.ask(page)[0] == 200, page
    for page in ("/administration", "/users", "/audit", "/quarantine"):
        assert upgraded.ask(page, "root")[0] == 200, page
    # Others see what was public, and nothing else.
    assert upgraded.ask("/experiments/1", "bob")[0] == 200
    assert upgraded.ask("/experiments/2", "bob")[0] == 404


def test_an_answer_of_before_is_given_and_is_that_of_its_publication(upgraded: Upgraded) -> None:
    status, answer = upgraded.call("/experiments/1/answer")
    assert status == 200, answer
    assert isinstance(answer, dict)
    status, told = upgraded.call(f"/publications/{upgraded.left.publications['standing']}/answer")
    assert isinstance(told, dict)
    assert (status, told["headline"]) == (200, answer["answer"][0])
    assert told["headline"] in upgraded.ask("/experiments/1/answer")[1]


def test_a_publication_of_before_is_whole_and_a_withdrawn_one_says_why(upgraded: Upgraded) -> None:
    standing, withdrawn = (upgraded.left.publications[name] for name in ("standing", "withdrawn"))
    status, page = upgraded.ask(f"/publications/{standing}", "")
    assert (status, "Which of two loops is faster?" in page) == (200, True)
    assert "is damaged" not in page
    archive = Client().get(f"/publications/{standing}/archive.zip")
    content = b"".join(archive)
    assert hashlib.sha256(content).hexdigest() == Publication.objects.get(pk=standing).sha256
    for part in ("badge.svg", "embed", "figure.svg", "citation.cff"):
        assert upgraded.ask(f"/publications/{standing}/{part}", "")[0] == 200
    status, page = upgraded.ask(f"/publications/{withdrawn}", "")
    assert (status, "It came too early." in page) == (410, True)
    with pytest.raises(IntegrityError), transaction.atomic():
        Publication.objects.filter(pk=standing).update(words="other words")


def test_programs_go_on_with_the_keys_that_they_had(upgraded: Upgraded) -> None:
    paths = (
        "/experiments", "/experiments/1", "/experiments/1/trials", "/experiments/1/reruns", "/experiments/2",
        "/workers", "/packages", "/queue", "/publications", "/keys", "/notices", "/experiments/1/events",
    )  # fmt: skip
    for path in paths:
        status, told = upgraded.call(path)
        assert status == 200, (path, told)
    assert upgraded.call("/experiments/2", "bob")[0] == 404
    # Keys of before keep all that they could.
    assert {"read", "submit", "publish"} <= set(ApiKey.objects.get(user__username="ada").scopes.split())


def test_what_is_counted_and_found_by_its_files_is_what_the_rows_say(upgraded: Upgraded) -> None:
    assert upgraded.left.keys
    assert find_violations() == []
    used = ExperimentFile.objects.filter(experiment_id=1, kind="package").order_by("name")
    assert list(used.values_list("name", flat=True)) == ["p1", "p2"]
    status, page = upgraded.ask(f"/packages/{used[0].sha256}")
    assert (status, "two-loops" in page) == (200, True)


def test_trials_under_way_end_and_the_re_run_is_looked_at(upgraded: Upgraded) -> None:
    now_s = upgraded.left.now_s
    assert Attempt.objects.filter(trial__experiment_id=2, ended_unix_s=None).exists()
    # As over each new connection to the broker.
    mark_all_orders_unsent()
    while leases := list_leases(now_s):
        for worker_id, lease in leases.items():
            now_s += 1.0
            say(worker_id, tell_record(lease), now_s)
        now_s += 1.0
        step(now_s)
    assert FleetExperiment.objects.get(pk=2).state == "completed"
    assert find_violations() == []
    status, told = upgraded.call("/experiments/2/answer")
    assert status == 200, told
    # Trials that all took the same time say nothing of a change: a judgement, and no failure.
    status, page = upgraded.ask("/experiments/1/reruns")
    assert (status, "Re-run #2 cannot be judged: " in page) == (200, True)


def test_what_is_new_takes_numbers_that_are_free(upgraded: Upgraded) -> None:
    file = FleetExperiment.objects.get(pk=1).text
    client = Client(headers={"Authorization": f"Bearer {upgraded.left.keys['ada']}"})
    used = ExperimentFile.objects.filter(experiment_id=1, kind="package")
    packages = [{"name": item.name, "kind": "package", "sha256": item.sha256, "bytes": 400} for item in used]
    body = {"text": file, "file_name": "experiment.toml", "packages": packages, "options": {}}
    answer = client.post("/api/experiments", body, content_type="application/json")
    assert (answer.status_code, answer.json().get("id")) == (200, 3), answer.json()
