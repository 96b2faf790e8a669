"""`datamill fetch` of debug trials and of designs of which nothing ended yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from integration.service.fleets import fail_record
from integration.service.small_fleet import Fleet, read_lines

from datamill.cli.fleet.fetch import fetch

pytestmark = pytest.mark.usefixtures("data_folder")


@pytest.mark.usefixtures("database")
def test_debug_trials_are_beside_the_log_and_not_in_it(tmp_path: Path) -> None:
    fleet = Fleet(debug="first")
    fleet.finish()
    bundle, records, end = fleet.fetch(tmp_path / "bundle")
    assert end.counted == len(records) == 8
    assert {item["purpose"] for item in read_lines(bundle.folder / "debug.jsonl")} == {"debug"}
    assert len(read_lines(bundle.folder / "debug.jsonl")) == 2


class FetchedOver:
    """The coordinator as `datamill fetch` asks it, without a network."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    def __enter__(self) -> FetchedOver:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get(self, path: str, kind: type) -> Any:
        return msgspec.json.decode(self.fleet.ada.read(path), type=kind)

    @contextmanager
    def stream(self, path: str) -> Iterator[Any]:
        yield SimpleNamespace(iter_bytes=lambda: iter([self.fleet.ada.read(path)]))


def type_fetch(fleet: Fleet, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Type `datamill fetch`; return its status and what it printed, as one line."""
    monkeypatch.setattr("datamill.cli.fleet.fetch.connect", lambda *_: FetchedOver(fleet))
    monkeypatch.setenv("COLUMNS", "300")
    result = CliRunner().invoke(fetch, [str(fleet.number), "--out", str(folder)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.usefixtures("memory_database")
def test_fetching_debug_trials_that_all_completed_is_a_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(debug="only")
    status, said = type_fetch(fleet, tmp_path / "early", monkeypatch)
    assert (status, "still debugging" in said) == (2, True)
    assert "0 of 2 debug trials completed" in said
    fleet.finish()
    status, said = type_fetch(fleet, tmp_path / "bundle", monkeypatch)
    assert status == 0, said
    assert "2 of 2 debug trials completed" in said
    assert "no design, so there is no answer" in said
    assert "debug.jsonl" in said
    assert "0 of 0" not in said


@pytest.mark.usefixtures("memory_database")
def test_fetching_a_debug_trial_that_failed_needs_attention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(debug="only")
    failed = False
    while leases := fleet.lease():
        for worker_id, lease in leases.items():
            fleet.end(worker_id, lease, None if failed else fail_record(lease))
            failed = True
    status, said = type_fetch(fleet, tmp_path / "bundle", monkeypatch)
    assert (status, "1 of 2 debug trials completed" in said) == (2, True), said


@pytest.mark.usefixtures("memory_database")
def test_fetching_a_design_of_which_nothing_ended_needs_attention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(debug="first", hold=True)
    fleet.finish()
    status, said = type_fetch(fleet, tmp_path / "bundle", monkeypatch)
    assert (status, "0 of 8 trials counted" in said) == (2, True), said
    assert "No trial of its design has ended" in said
