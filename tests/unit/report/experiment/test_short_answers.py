"""The answer in a few words, for a badge: never a number without its interval."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from made.planted_study import Levels, Point, Study, plan_study

from datamill.analysis.answer.experiment_analysis import analyze_experiment
from datamill.experiment.hypothesis import Hypothesis
from datamill.report.experiment.experiment_answer import shorten_answer

TWO = {"package": ("xz", "bzip2"), "aslr": ("on", "off")}
THREE = {**TWO, "package": ("xz", "bzip2", "zstd")}
MEANS = {"xz": 90.0, "bzip2": 25.0, "zstd": 10.0}


def plan(levels: Levels, spread: float = 0.3, **given: object) -> Study:
    def value(rng: np.random.Generator, point: Point) -> float:
        return float(MEANS[point["package"]] + spread * rng.standard_normal())

    return plan_study(levels, value, **given)  # type: ignore[arg-type]


def shorten(study: Study) -> str:
    return shorten_answer(analyze_experiment(*study[:3]))


def test_a_time_is_told_by_how_many_times_as_fast_with_its_interval() -> None:
    said = shorten(plan(TWO))
    found = re.fullmatch(r"bzip2 (3\.\d+) times as fast as xz \((3\.\d+) to (3\.\d+)\)", said)
    assert found, said
    estimate, low, high = map(float, found.groups())
    assert low < estimate < high
    assert estimate == pytest.approx(3.6, abs=0.1)


def test_what_is_no_time_is_told_as_a_multiple_of_the_response() -> None:
    said = shorten(plan(TWO, direction="higher", unit="op/s"))
    assert re.fullmatch(r"xz 3\.\d+ times bzip2's time \(3\.\d+ to 3\.\d+\)", said), said


def test_of_several_the_best_is_told_against_the_runner_up() -> None:
    assert shorten(plan(THREE)).startswith("zstd 2.")


def test_packages_that_the_data_do_not_tell_apart_are_named_without_a_number() -> None:
    assert shorten(plan(TWO, spread=300.0)) == "bzip2 and xz not told apart"


def test_what_takes_a_sentence_is_not_shortened() -> None:
    assert shorten(plan({"package": ("xz",), "aslr": ("on", "off")})) == ""
    assert shorten(plan(TWO, spread=0.0)) == ""


def test_a_hypothesis_is_told_by_what_became_of_it() -> None:
    experiment, *rest = plan(TWO)
    for bound, verdict in ((0.5, "supported"), (0.1, "refuted")):
        claim = Hypothesis("bzip2", "xz", "lower", 1 - bound, "time", None, bound)
        assert shorten((replace(experiment, hypothesis=claim), *rest)) == f"hypothesis {verdict}"
