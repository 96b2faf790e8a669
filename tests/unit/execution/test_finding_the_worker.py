"""Where the worker is looked for: as a wheel installs it, and as its owner names it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from datamill.execution.worker import WORKER_NAME, WORKER_VARIABLE, find_worker
from datamill.experiment.errors import InputError


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any worker."""
    monkeypatch.delenv(WORKER_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python" / "python3"))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "user" / "datamill")])
    return tmp_path


def put(folder: Path) -> Path:
    folder.mkdir()
    worker = folder / WORKER_NAME
    worker.write_text("#!/bin/sh\n")
    worker.chmod(0o755)
    return worker


@pytest.mark.parametrize("folder", ["python", "user", "path"])
def test_the_worker_is_found_beside_python_beside_the_command_and_on_the_path(
    empty: Path, folder: str
) -> None:
    worker = put(empty / folder)
    assert find_worker() == worker


def test_the_one_beside_python_comes_before_others_and_a_named_one_before_all(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = put(empty / "python")
    put(empty / "user")
    put(empty / "path")
    assert find_worker() == beside
    named = put(empty / "named")
    monkeypatch.setenv(WORKER_VARIABLE, str(named))
    assert find_worker() == named


def test_the_current_folder_is_not_searched(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(empty / "here")
    monkeypatch.chdir(empty / "here")
    for command in ("datamill", "-c"):
        monkeypatch.setattr(sys, "argv", [command])
        with pytest.raises(InputError, match=WORKER_NAME):
            find_worker()


def test_without_a_worker_the_remedy_is_the_wheel(empty: Path) -> None:
    with pytest.raises(InputError) as refused:
        find_worker()
    assert "wheel" in refused.value.remedy
    assert str(empty) not in str(refused.value)
