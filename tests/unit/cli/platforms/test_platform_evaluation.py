"""`datamill platforms evaluate` as it is typed: numbers, names, progress, files."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from made.suites import make_suite

from datamill.cli.main import datamill
from datamill.cli.platforms.part_progress import PartProgress
from datamill.experiment.errors import InputError
from datamill.platforms.evaluation.evaluation_plan import EvaluationPart, Variant


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    matrix = make_suite(6, 5)
    table = {
        "machine": np.repeat(matrix.machines, 5),
        "benchmark": list(matrix.benchmarks) * 6,
        "seconds": matrix.seconds.ravel(),
    }
    pl.DataFrame(table).write_csv(tmp_path / "scores.csv")
    return tmp_path / "scores.csv"


def type_evaluate(*words: object) -> Result:
    return CliRunner().invoke(datamill, ["platforms", "evaluate", *map(str, words)])


def test_ranges_lists_and_all_sets_are_understood(scores: Path) -> None:
    typed = [
        "--strategy",
        "clusters, geometric-mean",
        "--sizes",
        "3-4,5",
        "--limits",
        "1-2",
        "--draws",
        "all",
    ]
    ran = type_evaluate(scores, *typed, "--at", 4, "--json")
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert [(item["size"], item["all"]) for item in found["sizes"]] == [(3, True), (4, True), (5, True)]
    variants = [(item["strategy"], item["limit"]) for item in found["worst_decile"]]
    assert variants == [("clusters", None), ("geometric-mean", None), ("clusters", 1), ("clusters", 2)]
    assert found["at"] == 4


def test_a_picture_is_drawn_and_finished_parts_are_kept(scores: Path, tmp_path: Path) -> None:
    words = [scores, "--strategy", "geometric-mean", "--sizes", 4, "--out", tmp_path / "kept"]
    ran = type_evaluate(*words, "--picture", "lines", "--figure", tmp_path / "lines.json")
    assert ran.exit_code == 0, ran.output
    assert "Benchmarks against the suite's mean" in (tmp_path / "lines.json").read_text(encoding="utf-8")
    assert len(list((tmp_path / "kept").rglob("*.npz"))) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sizes", "5-3"], '"5-3" is neither a number nor a range'),
        (["--sizes", "3-99999999"], "neither a number nor a range"),
        (["--limits", "x"], '"x" is neither'),
        (["--draws", "many"], '"many" is not a number of sets'),
        (["--pool", "m0,m9"], 'pool= names "m9"'),
        (["--strategy", "clock"], "no clock of any machine is known"),
        (["--sizes", "6"], "6 of 6 machines to train on leave none to predict"),
    ],
)
def test_what_cannot_be_understood_is_an_error_with_a_remedy(
    scores: Path, words: list[str], message: str
) -> None:
    ran = type_evaluate(scores, *words)
    assert isinstance(ran.exception, InputError)
    assert message in ran.exception.message
    assert ran.exception.remedy


class Terminal(io.StringIO):
    """What a terminal is given to show."""

    def isatty(self) -> bool:
        return True


def test_progress_says_what_is_done_and_leaves_the_line_as_it_was() -> None:
    shown = Terminal()
    progress = PartProgress(shown)
    part = EvaluationPart((Variant("clusters", 2),), 7, 0, 10)
    for done in range(1, 5):
        progress._last = float("-inf")
        progress.hear(done, 4, part)
    progress.stop()
    assert "2 of 4 parts" in shown.getvalue()
    assert "clusters ≤ 2 from 7 machines" in shown.getvalue()
    assert shown.getvalue().endswith("\r\x1b[K")


def test_a_short_evaluation_says_nothing_of_its_progress() -> None:
    shown = io.StringIO()
    progress = PartProgress(shown)
    for done in range(1, 5):
        progress.hear(done, 4, EvaluationPart((Variant("clock"),), 3, 0, 10))
    progress.stop()
    assert not shown.getvalue()
