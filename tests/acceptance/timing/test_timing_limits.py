"""`datamill time` where little can be known, or little can be kept."""

import errno
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from acceptance.conftest import Command

from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.decisions import Decision


def time_json(folder: Path, *arguments: str) -> dict:
    result = Command(folder)("time", "--json", *arguments, timeout_s=300)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_a_disk_that_becomes_full_does_not_cost_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_disk(monkeypatch)
    told = time_json(tmp_path, "-r", "8", "sleep 0.001", "sleep 0.1")
    assert told["comparisons"][0]["verdict"] == "slower"
    # Everything was measured.
    assert "the bundle does not hold all executions: No space left on device." in told["warnings"]
    assert not told["interrupted"]


def test_a_disk_that_becomes_full_in_the_midst_ends_timing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_disk(monkeypatch)
    monkeypatch.setattr("datamill.conduct.timing.timing_run._FLUSH_S", 0.0)
    told = time_json(tmp_path, "-r", "8", "sleep 0.001", "sleep 0.1")
    assert told["interrupted"]
    assert (
        "it ended early, and the bundle does not hold all executions: No space left on device."
        in (told["warnings"])
    )
    [few] = [text for text in told["warnings"] if "too few to tell" in text]
    # There was time left.
    assert few.endswith("that takes 8.")


def test_each_decision_is_kept_once_although_the_disk_was_full_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[int] = []

    def keep(_: Bundle, decision: Decision) -> None:
        if len(kept) == 1 and not failures:
            failures.append(decision.look)
            raise OSError(errno.ENOSPC, "No space left on device")
        kept.append(decision.look)

    failures: list[int] = []
    monkeypatch.setattr(Bundle, "append_decision", keep)
    # Several looks go to disk at once.
    monkeypatch.setattr("datamill.conduct.timing.timing_run._FLUSH_S", 0.5)
    time_json(tmp_path, "-r", "30", "sleep 0.05", "sleep 0.051")
    assert failures == [2]
    assert kept == sorted(set(kept))
    assert kept[:2] == [1, 2]


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Bundle, __: Sequence[TrialRecord]) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Bundle, "append_records", fail)


def test_equal_memory_is_called_equal_after_eight_executions(tmp_path: Path) -> None:
    # So much more than its interpreter has that the pages of that do not matter.
    hold = "python3 -c 'held = bytearray({}) + b\"x\"'"
    asked = ("--response", "peak_memory", "--precision", "5%", "--within", "60s")
    told = time_json(tmp_path, *asked, hold.format(40_000_000), hold.format(40_004_096))
    [pair] = told["comparisons"]
    assert (pair["verdict"], pair["of"]) == ("unchanged", "typical")
    assert [command["n"] for command in told["commands"]] == [8, 8]
    assert ", in typical executions, within ±5%: " in told["answer"][0]


def test_two_rounds_tell_what_it_would_take_to_tell_anything(tmp_path: Path) -> None:
    told = time_json(tmp_path, "--within", "1s", "sleep 0.3", "sleep 0.31")
    assert told["comparisons"][0]["verdict"] == "cannot tell"
    [warning] = [text for text in told["warnings"] if "too few to tell" in text]
    assert "however much they differ: that takes 8, about " in warning
    assert warning.endswith(" in all: allow that or more with --within.")
