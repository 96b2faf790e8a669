"""Databases for tests of the coordinator; `databases.py` says what they are and how others get them."""

from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings
from integration.service.databases import database, memory_database, postgres_url

from datamill.service.bounded_work import places
from datamill.service.bounded_work.turns import Turns

__all__ = ["database", "memory_database", "postgres_url"]


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the test's own for the coordinator's files."""
    monkeypatch.setattr(settings, "DATA_FOLDER", tmp_path / "data")


@pytest.fixture(autouse=True)
def no_pause_between_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that this process answers follow at once; a coordinator that is served keeps its pace."""
    monkeypatch.setattr(places, "_LOOKS", Turns(replace(places._LOOKS._places, between_s=0.0)))
