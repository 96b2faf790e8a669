"""Databases for tests of the coordinator; `databases.py` says what they are and how others get them."""

from pathlib import Path

import pytest
from django.conf import settings
from integration.service.databases import database, memory_database, postgres_url

__all__ = ["database", "memory_database", "postgres_url"]


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the test's own for the coordinator's files."""
    monkeypatch.setattr(settings, "DATA_FOLDER", tmp_path / "data")
