"""The two bundles of `screen = "auto"`: which of them a command goes on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamill.conduct.question.read_files import read_experiment_file
from datamill.conduct.running import both_parts
from datamill.conduct.running.both_parts import (
    MAIN_FILE,
    PreparedPart,
    ResumedRun,
    begin_screening,
    find_main_part,
    find_part_to_resume,
)
from datamill.results.judgement.screened import SCREENED_FILE, ScreenedFirst

TEXT = """
[experiment]
name = "sorts"
screen = "auto"
[[package]]
name = "a"
path = "a"
"""
FOUND = ScreenedFirst("s", "wall_time", 64, 32, 2, 1, 0.01, 0.95, "means", (), None, ())


def write_experiment(folder: Path) -> Path:
    (folder / "a").mkdir()
    (folder / "a" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "a" / "run.sh").chmod(0o755)
    (folder / "experiment.toml").write_text(TEXT)
    return folder


def test_a_screening_has_a_folder_of_its_own_and_knows_what_it_comes_before(tmp_path: Path) -> None:
    question = read_experiment_file(write_experiment(tmp_path))
    first = begin_screening(question, tmp_path / "out")
    assert first.folder == tmp_path / "out-screening"
    assert first.question.experiment.design.kind == "screening"
    assert first.also == {MAIN_FILE: question.text.encode()}


def test_resuming_an_experiment_that_has_no_bundle_yet_goes_on_with_its_screening(tmp_path: Path) -> None:
    asked = ResumedRun(tmp_path / "out", retry_failed=True)
    assert find_part_to_resume(asked) == asked
    (tmp_path / "out-screening").mkdir()
    (tmp_path / "out-screening" / MAIN_FILE).write_text(TEXT)
    assert find_part_to_resume(asked) == ResumedRun(tmp_path / "out-screening", retry_failed=True)
    (tmp_path / "out").mkdir()
    assert find_part_to_resume(asked) == asked


def test_after_its_screening_an_experiment_begins_or_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    question = read_experiment_file(write_experiment(tmp_path))
    monkeypatch.setattr(both_parts, "read_main_question", lambda *_, **__: (question, FOUND, ("done",)))
    screening = tmp_path / "out-screening"
    screening.mkdir()
    assert find_main_part(screening, told.extend) is None, "an ordinary screening"
    (screening / MAIN_FILE).write_text(TEXT)
    part = find_main_part(screening, told.extend, allow_trials=7)
    assert isinstance(part, PreparedPart)
    assert (part.folder, part.allow_trials, list(part.also)) == (tmp_path / "out", 7, [SCREENED_FILE])
    assert told == ["done"]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "bundle.json").write_text("{}")
    assert find_main_part(screening, told.extend) == ResumedRun(tmp_path / "out")
