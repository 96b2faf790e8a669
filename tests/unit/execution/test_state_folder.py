"""Where the worker's journal is, and what is said when it cannot be kept."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from datamill.execution import state_folder
from datamill.execution.state_folder import (
    _make_temporary_folder,
    check_state_folder,
    find_results_folder,
    find_state_folder,
    name_results_folder,
)
from datamill.experiment.errors import InputError


def test_the_folder_is_found_as_the_worker_finds_it() -> None:
    home = {"HOME": "/h"}
    assert find_state_folder({"DATAMILL_STATE_DIR": "/s", **home}, is_root=True) == Path("/s")
    assert find_state_folder(home, is_root=True) == Path("/var/lib/datamill")
    assert find_state_folder(home, is_root=False) == Path("/h/.local/state/datamill")
    assert find_state_folder({"XDG_STATE_HOME": "/x", **home}, is_root=False) == Path("/x/datamill")
    relative = {"DATAMILL_STATE_DIR": "state", "XDG_STATE_HOME": "x", **home}
    assert find_state_folder(relative, is_root=False) == Path("/h/.local/state/datamill")


def _refuse_below(closed: Path) -> Callable[..., os.stat_result]:
    look = os.stat

    def refuse(path: str | Path, **asked: bool) -> os.stat_result:
        if closed in Path(path).parents:
            raise PermissionError(13, "Permission denied", str(path))
        return look(path, **asked)

    return refuse


def test_a_user_without_a_home_keeps_results_among_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(state_folder, "_make_temporary_folder", cache(_make_temporary_folder.__wrapped__))
    (tmp_path / "file").write_text("")
    without = {"HOME": str(tmp_path / "file")}
    kept = find_results_folder(without, is_root=False)
    assert kept.parent == tmp_path
    assert kept.stat().st_mode & 0o077 == 0
    assert find_results_folder(without, is_root=False) == kept
    closed = tmp_path / "closed"
    closed.mkdir()
    # As for a home that another user has closed, where even this cannot be asked.
    with monkeypatch.context() as patched:
        patched.setattr("os.stat", _refuse_below(closed))
        patched.setattr("os.access", lambda path, *_: Path(path) != closed)
        assert find_results_folder({"HOME": str(closed / "home")}, is_root=False) == kept
    # A folder that somebody names is not replaced by another one.
    named = without | {"DATAMILL_STATE_DIR": str(tmp_path / "file" / "state")}
    assert find_results_folder(named, is_root=False) == tmp_path / "file" / "state"
    assert find_results_folder({"HOME": str(tmp_path)}, is_root=False).parent.parent.parent == tmp_path


class _StoppedClock:
    @staticmethod
    def now() -> datetime:
        return datetime(2026, 11, 27, 12, 30, 15, tzinfo=UTC)


def test_results_within_one_second_go_into_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_folder, "datetime", _StoppedClock)
    monkeypatch.setattr(os, "getpid", lambda: 7)

    def name(kind: str = "timings") -> str:
        folder = name_results_folder(kind, {"DATAMILL_STATE_DIR": str(tmp_path)}, is_root=False)
        assert folder.parent == tmp_path / kind
        return folder.name.partition("-")[2]

    stamp = _StoppedClock.now().astimezone().strftime("%Y%m%d-%H%M%S-7")
    first = stamp.partition("-")[2]
    assert name() == first
    # Nothing is there yet, as where two threads ask.
    assert name() == f"{first}-2"
    # That of another process of this number, as in a container.
    (tmp_path / "timings" / f"{stamp}-3").mkdir(parents=True)
    assert name() == f"{first}-4"
    assert name("gates") == first


def test_a_folder_that_cannot_be_made_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DATAMILL_STATE_DIR", str(tmp_path / "file" / "state"))
    with pytest.raises(InputError, match="journal") as refused:
        check_state_folder(["package", "aslr", "autogroup"])
    assert "autogroup" in refused.value.remedy
    check_state_folder(["package", "aslr"])


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAMILL_STATE_DIR", str(tmp_path / "state"))
    check_state_folder(["swap"])
    assert (tmp_path / "state").is_dir()
    assert list((tmp_path / "state").iterdir()) == []
    (tmp_path / "state").chmod(0o777)
    with pytest.raises(InputError, match="other users may write it"):
        check_state_folder(["a_factor_of_the_experiment"])
