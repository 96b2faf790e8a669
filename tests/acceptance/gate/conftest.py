"""A scratch repository, and a state folder of its own, for tests of `datamill gate`."""

from pathlib import Path

import pytest
from acceptance.gate.scratch_repositories import make_repository


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAMILL_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def repository(tmp_path: Path, own_state: None) -> Path:  # noqa: ARG001
    return make_repository(tmp_path / "repository")
