"""How long an experiment says that it takes."""

from __future__ import annotations

import io

from rich.console import Console

from datamill.cli.experiment.design.design_text import describe_time
from datamill.cli.experiment.trial_progress import TrialProgress
from datamill.conduct.question.needed_time import add_up_time
from datamill.execution.trial_times import TrialTime, find_trial_time
from datamill.experiment.experiment import StoppingRule

SECOND = TrialTime(1.0, alike=True)


def test_time_to_go_never_exceeds_what_the_experiment_allows() -> None:
    console = Console(file=io.StringIO())
    progress = TrialProgress(console, planned=1_000_000, done=0, failed=0, at_most=True)
    progress.reset_clock()
    progress.limit_time(-1.0)
    progress.end_trial(completed=True)
    assert progress.describe_counts().endswith("at most 0 ms to go")


def describe(time: TrialTime, trials: int, rule: StoppingRule | None) -> str:
    return describe_time(add_up_time(time, trials, rule), bounded=rule is not None)


def test_the_estimate_of_a_bounded_experiment_is_no_longer_than_its_bound() -> None:
    assert describe(SECOND, 600, None).startswith("10 min (1.0 s a trial")
    bounded = StoppingRule(half_width=0.01, max_time_s=40.0)
    assert describe(SECOND, 600, bounded).startswith("at most 40 s (1.0 s a trial")
    assert describe(SECOND, 20, bounded).startswith("at most 20 s")
    unbounded = StoppingRule(half_width=0.01, max_trials=600)
    assert describe(SECOND, 600, unbounded).startswith("at most 10 min")


def test_earlier_trials_with_another_number_of_measurements_are_said_to_be_such() -> None:
    known = {"a" * 64 + " 120": 12.0, "b" * 64: 1.0}
    assert find_trial_time(known, "a" * 64, 120) == TrialTime(12.0, alike=True)
    other = find_trial_time(known, "a" * 64, 10)
    assert other == TrialTime(12.0, alike=False)
    told = describe(other, 10, None)
    assert "12 s a trial, from earlier trials here with another number of measurements" in told
    assert find_trial_time(known, "b" * 64, 0) == TrialTime(1.0, alike=True)
    assert find_trial_time(known, "c" * 64, 0) is None
