"""Texts of users and machines reach answers, figures, reports and publications as texts, and run nowhere."""

from __future__ import annotations

import html
import json

import pytest
from django.test import Client
from integration.service import small_fleet
from integration.service.api_users import TEXT
from integration.service.fleets import join
from integration.service.small_fleet import Fleet

from datamill.service.coordinator.joining.enrolment import EnrolledWorker
from datamill.service.models import Publication

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")
#: Ends a script, a title, an attribute and a comment, whichever it stands in.
HOSTILE = "--></title></script>\"'><script>alert(1)</script><img src=x onerror=alert(1)>"
MARKS = ("<script>alert", "<img src=x")


def read(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.content[:500])
    return (b"".join(answer) if answer.streaming else answer.content).decode()


def test_hostile_questions_titles_and_processors_run_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def join_named(name: str) -> EnrolledWorker:
        return join(name, cpu_model=HOSTILE if name == "slow" else "AMD EPYC", distribution=HOSTILE)

    monkeypatch.setattr(small_fleet, "join", join_named)
    text = TEXT.replace('"Which is faster?"', json.dumps(f"Which {HOSTILE}?"))
    text = text.replace('machine = "100%"', 'cpu_model = "100%"')
    fleet = Fleet(text=text, public=True)
    fleet.finish()
    client = Client()
    client.force_login(fleet.ada.user)
    here = f"/experiments/{fleet.number}"
    said = {"title": HOSTILE, "authors": HOSTILE, "licence": "MIT", "summary": HOSTILE, "everybody": "yes"}
    assert client.post(f"{here}/publish", said).status_code == 302
    published = f"/publications/{Publication.objects.get().key}"
    paths = (
        "/experiments", here, f"{here}/answer", f"{here}/report", f"{here}/figures/0.svg", "/workers",
        "/workers/slow", "/packages", "/queue", "/publications", published, f"{published}/embed",
        f"{published}/figure.svg", f"{published}/badge.svg",
    )  # fmt: skip
    for path in paths:
        page = read(client, path)
        assert not [mark for mark in MARKS if mark in page], path
    assert html.escape(HOSTILE) in read(client, here)
    assert html.escape(HOSTILE) in read(client, "/workers/slow")
