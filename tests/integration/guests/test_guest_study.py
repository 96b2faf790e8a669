"""Experiment 3 of the memory-layout study reboots guests as it says, and `summarize` reads what it writes."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

STUDY = Path(__file__).resolve().parents[3] / "studies" / "memory-layout"


def test_one_guest_reboots_before_each_trial_and_the_other_never(tmp_path: Path) -> None:
    table = tmp_path / "guests.csv"
    done = subprocess.run(
        [sys.executable, STUDY / "experiment-3-guests", table, "--replicates", "2", "--package", "dhrystone"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 2 and "no guests here" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["exclusion"] for row in rows] == [""] * 8
    boots = {
        reboot: [row["boot_id"] for row in rows if row["reboot"] == reboot]
        for reboot in ("none", "before_trial")
    }
    assert len(boots["none"]) == len(boots["before_trial"]) == 4
    assert len(set(boots["none"])) == 1
    assert len({*boots["before_trial"], *boots["none"]}) == 5
    times = [float(row["value"]) for row in rows]
    assert all(0.01 < time < 60 for time in times)

    summary = subprocess.run(
        [sys.executable, STUDY / "summarize", table], capture_output=True, text=True, check=False
    )
    assert summary.returncode == 0, summary.stderr
    assert "emulated by qemu" in summary.stdout
    assert "warmups × reboot" in summary.stdout
