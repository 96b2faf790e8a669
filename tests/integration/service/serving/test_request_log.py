"""The coordinator's log: a line for what users did wrong, all there is for what we did wrong."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from integration.service.api_users import ApiUser, make_submission
from integration.service.fleets import join

from datamill.service.serving.log import make_log_handler


@pytest.fixture
def log(memory_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:  # noqa: ARG001
    """What the coordinator would write while a test runs."""
    monkeypatch.setattr(settings, "DATA_FOLDER", tmp_path)
    written = io.StringIO()
    handler = make_log_handler(written)
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


def test_what_users_do_wrong_is_a_line_of_information(log: io.StringIO) -> None:
    ada = ApiUser("ada")
    join("one")
    stranger = Client()
    assert stranger.get("/api/experiments").status_code == 401
    assert ada.get("/experiments/999")[0] == 404
    assert ada.post("/experiments", {**make_submission(ada.user), "text": "["})[0] == 400
    assert ada.post("/experiments", {"text": 1})[0] == 422
    assert stranger.get("/nowhere").status_code == 404
    assert Client(enforce_csrf_checks=True).post("/login").status_code == 403
    assert stranger.get("/workers", headers={"host": "no host"}).status_code == 400
    lines = log.getvalue().splitlines()
    told = [re.sub(r"^\S+ \S+ I django\.[\w.]+: ", "", line) for line in lines]
    assert told == [
        "refused with 401: GET /api/experiments",
        "refused with 404: GET /api/experiments/999",
        "refused with 400: POST /api/experiments",
        "refused with 422: POST /api/experiments",
        "refused with 404: GET /nowhere",
        "refused with 403: POST /login",
        "refused with 400: GET /workers",
    ]


def test_a_sender_cannot_write_lines_of_its_own(log: io.StringIO) -> None:
    assert Client().get("/no%0Asuch%1b[31m%20page").status_code == 404
    (line,) = log.getvalue().splitlines()
    assert line.endswith(r"refused with 404: GET /no\nsuch\x1b[31m page")


def test_what_we_do_wrong_is_loud_and_whole(log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a defect of ours")

    ada = ApiUser("ada")
    monkeypatch.setattr("datamill.service.api.experiments.list_visible_experiments", fail)
    client = Client(raise_request_exception=False)
    client.force_login(ada.user)
    assert client.get("/api/experiments").status_code == 500
    said = log.getvalue()
    assert re.search(r" E django\.request: .*api/experiments", said), said
    assert "Traceback" in said
    assert "a defect of ours" in said
