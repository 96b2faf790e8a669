"""What takes longer than a few seconds says what it does and how long it takes."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made.synthetic import EXPERIMENT, make_bundle_folder
from rich.console import Console

from datamill.cli.experiment import trial_progress
from datamill.cli.experiment.run_display import RunDisplay
from datamill.conduct.running.run_bundle import make_builds
from datamill.execution.here import list_pending_trials
from datamill.protocol.trial import TrialSpec

ROOT = Path(__file__).parents[4]
START = "from datamill.cli.main import main; main()"


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_each_step_of_setup_says_what_it_does_before_it_does_it(tmp_path: Path) -> None:
    """All that takes long stands behind a sentence; nothing is made here."""
    planned = subprocess.run(
        ["make", "--dry-run", "--always-make", "setup", f"VENV={tmp_path / 'venv'}"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    steps = list(re.finditer(r"setup, step (\d) of (\d): [^\n']*\(([^\n']*)\)", planned))
    assert [step[1] for step in steps] == ["1", "2", "3", "4", "5"]
    assert {step[2] for step in steps} == {"5"}
    assert all(re.search("second|minute", step[3]) for step in steps)
    for number, work in enumerate(("-m venv", "requirements/dev.txt", "--no-build-isolation", "cargo build")):
        end = steps[number + 1].start() if number + 1 < len(steps) else len(planned)
        assert work in planned[steps[number].end() : end]


class SlowBuilder:
    """Makes builds in no time of ours."""

    def build_package(self, _spec: TrialSpec) -> None:
        time.sleep(0.02)

    def stop(self) -> None:
        raise AssertionError("nothing was interrupted")


def test_building_says_how_many_builds_are_left_and_how_long_they_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_progress, "_LINE_INTERVAL_S", 0.0)
    bundle = make_bundle_folder(tmp_path / "bundle", EXPERIMENT.replace("seed =", 'build = "shared"\nseed ='))
    pending = list_pending_trials(bundle, [])
    printed = io.StringIO()
    console = Console(file=printed, width=200)
    display = RunDisplay(console)
    display.begin_run(bundle)
    with display.show_trials(planned=len(pending), done=0, failed=0, at_most=False):
        make_builds(bundle, pending, SlowBuilder(), display)  # type: ignore[arg-type]
    stages = re.findall(r"\[building: (\d+) of (\d+)(?:, about ([^\]]+) to go)?\]", printed.getvalue())
    total = int(stages[0][1])
    assert total > 1
    assert [int(done) for done, _, _ in stages] == list(range(total + 1))
    # As soon as one is made, and no longer when all are.
    assert [bool(to_go) for _, _, to_go in stages] == [False, *[True] * (total - 1), False]


def test_serve_says_at_once_that_it_starts(tmp_path: Path) -> None:
    """The sentence comes before the coordinator's program is loaded, which takes seconds."""
    process = subprocess.Popen(
        [sys.executable, "-c", START, "serve", "--data", str(tmp_path), "--listen", "nowhere"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    first = process.stderr.readline()
    rest = process.stderr.read()
    assert process.wait() == 2
    assert first.startswith("Starting the coordinator: ")
    assert "nowhere" in rest
