"""What attacks in this folder share: databases, a coordinator, and the command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.conftest import datamill
from integration.service.conftest import no_pause_between_turns
from integration.service.databases import database, memory_database, postgres_url
from integration.service.played_fleet import Coordinator, standing_by

__all__ = ["database", "datamill", "memory_database", "no_pause_between_turns", "postgres_url"]


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[Coordinator]:
    """A coordinator that is not started; whatever it started is ended."""
    with standing_by(tmp_path / "data") as coordinator:
        yield coordinator
