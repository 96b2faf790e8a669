"""What a report says of a sequential experiment: why it stopped, and which intervals still hold."""

import pytest

from datamill.experiment.experiment import Experiment
from datamill.experiment.file.parse import parse_experiment
from datamill.report.experiment.tables import tabulate_trials
from datamill.report.stopping.figure import MonitoredPoint, draw_monitoring
from datamill.report.stopping.section import qualify_answer, view_stopping
from datamill.report.words.answer import Answer
from datamill.results.bundles.decisions import Cause, Decision, LookInterval
from datamill.results.bundles.trial_summary import TrialSummary

TEXT = """
[experiment]
name = "sequential"
[[package]]
name = "old"
path = "a"
[[package]]
name = "new"
path = "b"
[responses.rate]
unit = "B/s"
formula = "input_bytes / wall_time_s"
direction = "higher"
[replication]
until = {until}
max_trials = 500
"""
PLAIN = Answer("", "old is better, p < 0.001.", ("a detail",), (), ("a warning.",), 20, 0.95, "means")


def read(until: str) -> Experiment:
    return parse_experiment(TEXT.replace("{until}", until), name="experiment.toml")


def decide(look: int, cause: Cause, *intervals: LookInterval, warnings: tuple[str, ...] = ()) -> Decision:
    return Decision(
        schema=1,
        look=look,
        trials=4 + 2 * look,
        elapsed_s=12.0,
        response="rate",
        rule="until something",
        intervals=intervals,
        decision="go on" if cause == "not yet" else "stop",
        cause=cause,
        reason="rate did something",
        warnings=warnings,
    )


def difference(estimate: float, low: float | None, high: float | None) -> tuple[LookInterval, LookInterval]:
    return (
        LookInterval("new against old", 8, estimate, low, high, 0.95),
        LookInterval("new against old", 8, estimate, low, high, 0.8),
    )


def summarize(*decisions: Decision, not_needed: int = 0) -> TrialSummary:
    return TrialSummary(
        planned=10,
        completed=10,
        failed=0,
        timed_out=0,
        lost=0,
        excluded=0,
        machines=(),
        isolation_kind="confined",
        isolation_reason="",
        builds_shared=False,
        not_needed=not_needed,
        decisions=decisions,
    )


@pytest.mark.parametrize(
    ("cause", "estimate", "bounds", "said"),
    [
        (
            "changed",
            0.2,
            (0.12, 0.28),
            "new is better than old: the rate of new differs from old's by +20.0% (95%",
        ),
        ("changed", -0.2, (-0.28, -0.12), "old is better than new: the rate of new differs from old's by"),
        ("no difference", 0.01, (-0.05, 0.07), "new and old do not differ in rate by 10% or more"),
        (
            "max_trials",
            0.05,
            (-0.1, 0.2),
            "The data cannot tell yet whether new and old differ in rate by 10%",
        ),
    ],
)
def test_the_rules_verdict_is_the_headline_of_a_comparison(
    cause: Cause, estimate: float, bounds: tuple[float, float], said: str
) -> None:
    trials = summarize(decide(3, cause, *difference(estimate, *bounds)))
    answer = qualify_answer(PLAIN, read('{ detect = "10%" }'), "B/s", trials)
    assert answer.headline.startswith(said)
    level = "80%" if cause == "no difference" else "95%"
    assert f"({level} sequential interval" in answer.headline
    assert "p <" not in answer.headline
    assert any("fixed number of trials" in warning for warning in answer.warnings)
    assert answer.warnings[0] == "a warning."


def test_what_limits_the_rules_verdict_comes_right_behind_it() -> None:
    looks = decide(3, "changed", *difference(0.2, 0.12, 0.28), warnings=("it stopped after 8 rounds",))
    answer = qualify_answer(PLAIN, read('{ detect = "10%" }'), "B/s", summarize(looks))
    assert answer.details == ("Warning: It stopped after 8 rounds.", "a detail")
    assert not any("8 rounds" in warning for warning in answer.warnings)


def test_means_that_were_to_be_precise_get_the_intervals_that_hold_where_it_stopped() -> None:
    trials = summarize(
        decide(
            3,
            "precise",
            LookInterval("old", 8, 2e6, 1.98e6, 2.02e6, 0.95),
            LookInterval("new", 8, 3e6, 2.97e6, 3.03e6, 0.95),
            warnings=("1 of 9 rounds lack something",),
        )
    )
    answer = qualify_answer(PLAIN, read('{ half_width = "1%" }'), "B/s", trials)
    assert answer.details[0] == (
        "Mean rate of old: 2.000 MB/s (95% sequential interval 1.980 to 2.020), ±1%, n = 8 rounds."
    )
    assert answer.headline == PLAIN.headline
    assert answer.warnings[-1] == "1 of 9 rounds lack something."


def test_an_experiment_of_fixed_size_keeps_its_answer_and_has_no_such_section() -> None:
    experiment = parse_experiment(
        TEXT.replace("until = {until}\nmax_trials = 500", "executions = 5"), name="experiment.toml"
    )
    assert qualify_answer(PLAIN, experiment, "B/s", summarize()) is PLAIN
    assert view_stopping(experiment, summarize()) is None


@pytest.mark.usefixtures("drawings")
def test_the_section_says_why_it_stopped_what_it_took_and_what_was_not_needed() -> None:
    looks = (
        decide(1, "not yet", *difference(0.1, None, None)),
        decide(2, "not yet", *difference(0.15, -0.1, 0.4)),
        decide(3, "changed", *difference(0.2, 0.12, 0.28)),
    )
    view = view_stopping(read('{ detect = "10%" }'), summarize(*looks, not_needed=490))
    assert view is not None
    assert view.title == "Why it stopped"
    assert view.sentences == (
        "The experiment was to go on until something. It was looked at after each batch: 3 looks, 10 trials, "
        "which took 12 s.",
        "It stopped: rate did something.",
        "490 further trials had been planned and were not needed.",
    )
    assert view.figure is not None
    svg = view.figure.result().svg
    assert "95% sequential interval" in svg
    assert "difference (%)" in svg


def test_trials_that_a_bound_cut_off_are_not_called_needless() -> None:
    looks = (decide(1, "max_time", *difference(0.1, -0.2, 0.4)),)
    view = view_stopping(read('{ detect = "10%" }'), summarize(*looks, not_needed=490))
    assert view is not None
    assert view.sentences[2] == "490 further trials had been planned and were not run."


def test_the_figure_shows_the_last_intervals_whole_however_far_the_goal_is() -> None:
    points = [MonitoredPoint(10 * look, "a", 0.0, -width, width) for look, width in ((1, 900.0), (2, 30.0))]
    figure = draw_monitoring(points, title="t", axis="a", goal=0.5, caption="c")
    low, high = figure.chart["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    assert low < -30 < 30 < high
    assert high < 100


def test_an_experiment_that_goes_on_is_not_said_to_have_stopped() -> None:
    view = view_stopping(read('{ detect = "10%" }'), summarize(decide(1, "not yet")))
    assert view is not None
    assert view.title == "How far it is from stopping"
    assert view.sentences[1].startswith("It has not stopped yet")
    assert view.figure is None


def test_trials_that_were_not_needed_are_neither_failed_nor_missing() -> None:
    rows = dict(tabulate_trials(summarize(not_needed=490)).rows)
    assert rows["planned, not needed"] == "490"
    assert "planned" not in rows, "what was not needed had been planned too"
    assert "needed" in rows
    assert rows["not yet run"] == "0"
    assert "planned, not needed" not in dict(tabulate_trials(summarize()).rows)
