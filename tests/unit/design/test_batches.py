"""The plan of a sequential experiment: batches up to its bound, with every design point equally often."""

from collections import Counter

import pytest

from datamill.design.batches import list_batches, number_round, phrase_batches, phrase_rule
from datamill.design.points.factorial import choose_factors, count_trials
from datamill.design.trials import build_design
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.file.parse import parse_experiment

TEXT = """
[experiment]
name = "sequential"
seed = 7
{head}
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
[factors]
aslr = ["on", "off"]
[replication]
{replication}
until = {{ detect = "10%" }}
"""


def read(replication: str, head: str = "", tail: str = "") -> Experiment:
    return parse_experiment(TEXT.format(replication=replication, head=head) + tail, name="experiment.toml")


def test_every_batch_holds_every_design_point_equally_often() -> None:
    experiment = read("executions = 3\nmax_trials = 70")
    batches = list_batches(experiment, build_design(experiment))
    assert [len(batch) for batch in batches] == [12] + [4] * 14
    for batch in batches:
        assert len(set(Counter(trial.point for trial in batch).values())) == 1
    assert {trial.block for trial in batches[3]} == {"batch 4"}


def test_the_order_within_batches_is_random_and_the_same_for_the_same_seed() -> None:
    experiment = read("max_trials = 400")
    first, second = build_design(experiment), build_design(experiment)
    assert first == second
    orders = {tuple(trial.point for trial in batch) for batch in list_batches(experiment, first)}
    assert len(orders) > 10
    assert [trial.order for trial in first.trials] == list(range(1, 401))


def test_a_batch_is_one_more_build_with_all_of_its_executions_where_builds_repeat() -> None:
    experiment = read("builds = 3\nexecutions = 2\nmax_trials = 130")
    design = build_design(experiment)
    batches = list_batches(experiment, design)
    assert [len(batch) for batch in batches] == [24] + [8] * 13
    assert {trial.build for trial in batches[0]} == {1, 2, 3}
    assert {trial.build for trial in batches[2]} == {5}
    assert {number_round(experiment, trial) for trial in batches[2]} == {5}
    builds = {(trial.package, trial.build, trial.build_seed) for trial in design.trials}
    assert len(builds) == 32


def test_the_first_batch_has_two_replicates_at_least() -> None:
    experiment = read("max_trials = 64")
    assert len(list_batches(experiment, build_design(experiment))[0]) == 8


def test_fresh_builds_are_rounds_of_their_own() -> None:
    experiment = read("max_trials = 64", head='build = "fresh"')
    design = build_design(experiment)
    assert {trial.build for trial in design.trials} == set(range(1, 17))


def test_reference_trials_come_in_the_batches_and_do_not_change_them() -> None:
    plain = read("max_trials = 64")
    marked = read("max_trials = 64", tail='[reference]\npackage = "a"\nevery = 7\n')
    batches = list_batches(marked, build_design(marked))
    questions = [[trial for trial in batch if trial.purpose == "question"] for batch in batches]
    expected = list_batches(plain, build_design(plain))
    assert [[trial.trial_id for trial in batch] for batch in questions] == [
        [trial.trial_id for trial in batch] for batch in expected
    ]
    assert sum(len(batch) for batch in batches) == len(build_design(marked).trials) > 64


def test_time_alone_plans_as_many_trials_as_it_could_ever_hold() -> None:
    short = read('max_time = "2 s"')
    assert count_trials(short, choose_factors(short)) == 200
    long = read('max_time = "2 d"')
    assert count_trials(long, choose_factors(long)) == 100_000


def test_a_bound_that_leaves_the_rule_no_room_is_refused_with_what_it_needs() -> None:
    with pytest.raises(InputError, match=r"max_trials = 59 leaves no room .* needs 60 trials at least"):
        build_design(read("max_trials = 59"))
    with pytest.raises(InputError, match="needs 80 trials at least"):
        count_trials(read("executions = 20\nmax_trials = 79"), choose_factors(read("max_trials = 99")))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ('detect = "10%", alpha = 0.5', "alpha must lie between 0 and 0.5, not 0.5"),
        ('detect = "10%", power = 1.0', "power must lie between 0 and 1, not 1"),
        ('half_width = "1%", confidence = 0.3', "confidence must lie between 0.5 and 1, not 0.3"),
    ],
)
def test_a_number_of_the_rule_that_is_out_of_range_is_named(rule: str, words: str) -> None:
    text = TEXT.format(replication="max_trials = 64", head="").replace('detect = "10%"', rule)
    with pytest.raises(InputError, match=words):
        parse_experiment(text, name="experiment.toml")


def test_the_plan_says_in_words_how_it_grows_and_until_when() -> None:
    experiment = read('builds = 3\nexecutions = 2\nmax_trials = 130\nmax_time = "2 h"')
    words = phrase_batches(experiment, 4)
    assert words == (
        "3 builds of 2 executions in the first batch, then 1 build more in each, at most 32 replicates"
    )
    assert experiment.until is not None
    assert phrase_rule(experiment.until) == (
        "until the packages differ (alpha 0.05), or do not differ by 10% or more (power 0.9); at most "
        "130 trials or 2 h"
    )
