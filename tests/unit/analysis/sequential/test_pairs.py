"""Every package against every other, looked at again and again."""

import numpy as np
import pytest

from datamill.analysis.sequential.intervals import bound_relative_difference, bound_stopped_mean
from datamill.analysis.sequential.pairs import (
    PARTS,
    compare_pairs,
    count_fewest_rounds,
    count_needed_rounds,
    list_undecided,
)
from datamill.analysis.sequential.rounds import Rounds
from datamill.analysis.sequential.steps import find_hiding_step
from datamill.analysis.sequential.timing_look import decide_timing
from datamill.experiment.experiment import Experiment
from datamill.experiment.file.parse import parse_experiment

NAMES = ("a", "b", "c")


def make_rounds(*columns: np.ndarray) -> Rounds:
    return Rounds(NAMES[: len(columns)], tuple(range(1, len(columns[0]) + 1)), np.stack(columns, axis=1))


def draw(mean: float, spread: float, rounds: int, seed: int) -> np.ndarray:
    return mean * (1 + spread * np.random.default_rng(seed).standard_normal(rounds))


def test_packages_far_apart_are_settled_after_ten_rounds_and_no_sooner() -> None:
    values = draw(1.0, 0.01, 10, 1), draw(3.0, 0.01, 10, 2)
    (early,) = compare_pairs(make_rounds(*(column[:5] for column in values)), alpha=0.05, limit=0.01)
    (pair,) = compare_pairs(make_rounds(*values), alpha=0.05, limit=0.01)
    assert (early.verdict, early.settled) == ("cannot tell", False)
    assert (pair.verdict, pair.settled, pair.interval.of) == ("more", True, "typical")


def test_rare_slow_values_that_few_rounds_have_not_met_leave_the_means_open() -> None:
    calm = draw(0.96, 0.005, 25, 2)
    few = compare_pairs(make_rounds(draw(1.0, 0.005, 25, 1), calm), alpha=0.05, limit=0.01)[0]
    slow = np.where(np.arange(80) % 10 == 9, 1.4, draw(0.96, 0.005, 80, 2))
    many = compare_pairs(make_rounds(draw(1.0, 0.005, 80, 1), slow), alpha=0.05, limit=0.01)[0]
    assert (few.verdict, few.interval.of) == ("less", "typical")
    assert (many.verdict, many.interval.of) == ("less", "typical")


def slow_now_and_then(values: np.ndarray, seed: int, share: float, times: float) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random(values.size) < share, times * values, values)


def test_rare_slow_values_of_a_neighbour_do_not_keep_a_known_difference_open() -> None:
    values = (
        slow_now_and_then(draw(mean, 0.005, 400, seed), seed, 0.05, 1.3) for mean, seed in ((1, 3), (1.1, 4))
    )
    (pair,) = compare_pairs(make_rounds(*values), alpha=0.05, limit=0.01)
    assert (pair.verdict, pair.settled, pair.interval.of) == ("more", True, "typical")
    assert 0.09 < pair.interval.low < 0.1 < pair.interval.high < 0.11


def test_means_that_say_more_than_typical_values_are_told() -> None:
    slower = slow_now_and_then(draw(1.01, 0.001, 400, 4), 4, 0.2, 3)
    (pair,) = compare_pairs(make_rounds(draw(1.0, 0.001, 400, 3), slower), alpha=0.05, limit=0.01)
    assert (pair.verdict, pair.settled, pair.interval.of) == ("more", False, "mean")


def test_a_difference_is_settled_when_it_is_known_to_a_tenth_of_it() -> None:
    few, many = (
        compare_pairs(make_rounds(draw(1.0, 0.05, n, 1), draw(0.8, 0.05, n, 2)), alpha=0.05, limit=0.01)[0]
        for n in (15, 150)
    )
    assert few.verdict == many.verdict == "less"
    assert (few.settled, many.settled) == (False, True)


def test_equal_packages_are_unchanged_once_the_interval_lies_within_the_limit() -> None:
    rounds = make_rounds(draw(1.0, 0.01, 200, 1), draw(1.0, 0.01, 200, 2))
    (pair,) = compare_pairs(rounds, alpha=0.05, limit=0.01)
    assert (pair.verdict, pair.settled) == ("unchanged", True)
    assert -0.01 < pair.interval.low < 0 < pair.interval.high < 0.01


def test_noise_that_both_share_in_a_round_does_not_widen_the_interval() -> None:
    drift = np.linspace(1.0, 2.0, 40)
    rounds = make_rounds(drift * draw(1.0, 0.002, 40, 1), drift * draw(1.05, 0.002, 40, 2))
    (pair,) = compare_pairs(rounds, alpha=0.05, limit=0.01)
    assert pair.verdict == "more"
    assert pair.interval.high - pair.interval.low < 0.01


def test_each_of_many_pairs_gets_its_share_of_alpha() -> None:
    columns = [draw(1.0, 0.05, 30, seed) for seed in (1, 2, 3)]
    (alone,) = compare_pairs(make_rounds(*columns[:2]), alpha=0.05, limit=0.01)
    three = compare_pairs(make_rounds(*columns), alpha=0.05, limit=0.01)
    assert [pair.interval.name for pair in three] == ["b against a", "c against a", "c against b"]
    assert three[0].interval.confidence == alone.interval.confidence == pytest.approx(0.95)
    assert three[0].interval.low < alone.interval.low
    assert three[0].interval.high > alone.interval.high


def test_a_command_without_two_complete_rounds_leaves_its_pairs_open() -> None:
    missing = np.array([1.0, np.nan, np.nan, np.nan])
    pairs = compare_pairs(make_rounds(draw(1.0, 0.01, 4, 1), missing), alpha=0.05, limit=0.01)
    assert list_undecided(pairs) == pairs
    assert pairs[0].interval.estimate is None


@pytest.mark.parametrize(("difference", "least", "most"), [(0.03, 20, 300), (0.0, 100, 2000)])
def test_the_rounds_that_it_would_take_are_about_those_that_it_takes(
    difference: float, least: int, most: int
) -> None:
    columns = [draw(1.0, 0.05, 20, seed) for seed in (5, 6)]
    first, second = (column / column.mean() for column in columns)
    rounds = make_rounds(first, (1 + difference) * second)
    (pair,) = compare_pairs(rounds, alpha=0.05, limit=0.01)
    assert least <= pair.needed_rounds <= most


def test_the_interval_of_a_mean_time_never_begins_below_zero() -> None:
    experiment = parse_experiment(
        "[experiment]\nname = 't'\norder = 'interleaved'\n[[package]]\nname = 'a'\ncommand = 'true'\n"
        "[replication]\nexecutions = 2\nuntil = { half_width = 0.01 }\nmax_trials = 100\n",
        name="experiment.toml",
    )
    rounds = make_rounds(np.array([0.1, 1.0]))
    (mean,) = decide_timing(experiment, rounds, look=1, trials=2, elapsed_s=1.0)[0].means
    plain = bound_stopped_mean(np.array([0.1, 1.0]), "a", 0.95, step=0.0)
    assert plain.low < 0 == mean.low
    assert mean.high == plain.high


def test_rare_slow_executions_limit_means_and_no_verdict_on_typical_values() -> None:
    def read(*names: str) -> Experiment:
        packages = "".join(f"[[package]]\nname = '{name}'\ncommand = 'true'\n" for name in names)
        rule = "[replication]\nexecutions = 2\nuntil = { half_width = 0.01 }\nmax_trials = 300\n"
        text = f"[experiment]\nname = 't'\norder = 'interleaved'\n{packages}{rule}"
        return parse_experiment(text, name="experiment.toml")

    columns = [draw(size, 0.01, 12, seed) for seed, size in enumerate((1.0, 2.0, 3.0))]
    rounds = make_rounds(*columns)
    several, pairs = decide_timing(read("a", "b", "c"), rounds, look=1, trials=36, elapsed_s=1.0)
    assert (several.decision, {pair.interval.of for pair in pairs}) == ("stop", {"typical"})
    assert several.warnings == ()
    one, _ = decide_timing(read("a"), make_rounds(draw(1.0, 0.001, 16, 1)), look=1, trials=16, elapsed_s=1.0)
    assert one.warnings == (
        "it stopped after 16 executions: if one in 10 is slow, so few may not have met one (19% of such "
        "timings meet none), and the answer may be wrong; type datamill time --min-runs 30 where that is to "
        "be expected",
    )


PAGE = 4096.0


@pytest.mark.parametrize(
    ("difference", "verdict"), [(0, "unchanged"), (1, "unchanged"), (25, "more"), (75, "more"), (250, "more")]
)
def test_memory_that_is_the_same_in_each_execution_is_judged_after_eight(
    difference: int, verdict: str
) -> None:
    # 10 MB in pages, and so many pages more: 0, 0.04, 1, 3 and 10%.
    columns = np.full(8, 2500 * PAGE), np.full(8, (2500 + difference) * PAGE)
    early, pair = (
        compare_pairs(
            make_stepped(*(column[:count] for column in columns)), alpha=0.05, limit=0.01, by_range=True
        )[0]
        for count in (7, 8)
    )
    assert early.verdict == "cannot tell"
    assert early.needed_rounds == 8
    assert (pair.verdict, pair.settled, pair.interval.of) == (verdict, True, "typical")
    assert pair.interval.low <= difference / 2500 <= pair.interval.high


def test_memory_that_jumps_by_a_page_now_and_then_is_judged_with_that_page_as_doubt() -> None:
    jumps = (np.arange(12) % 7 == 3) * PAGE
    equal, less = 2500 * PAGE + jumps, 2400 * PAGE + jumps[::-1]
    rounds = make_stepped(equal, equal[::-1])
    assert rounds.steps == (PAGE, PAGE)
    (pair,) = compare_pairs(rounds, alpha=0.05, limit=0.01)
    assert pair.verdict == "unchanged"
    assert pair.interval.high - pair.interval.low > 2 / 2500
    # The limit is less than the page: nobody can tell then.
    assert compare_pairs(rounds, alpha=0.05, limit=0.0005)[0].verdict == "cannot tell"
    (pair,) = compare_pairs(make_stepped(equal, less), alpha=0.05, limit=0.01)
    assert (pair.verdict, pair.interval.low < -0.04 < pair.interval.high) == ("less", True)


@pytest.mark.parametrize(("by_range", "verdict"), [(False, "more"), (True, "unchanged")])
def test_a_difference_below_the_limit_is_judged_alike_before_and_after_means_are_known(
    by_range: bool, verdict: str
) -> None:
    # 0.04%, in each of the rounds.
    columns = np.full(40, 2500 * PAGE), np.full(40, 2501 * PAGE)
    verdicts = {
        compare_pairs(
            make_stepped(*(column[:count] for column in columns)), alpha=0.05, limit=0.01, by_range=by_range
        )[0].verdict
        for count in (8, 20, 29, 30, 31, 40)
    }
    assert verdicts == {verdict}


def test_memory_that_varies_by_some_pages_is_unchanged_as_soon_as_no_two_values_are_far_apart() -> None:
    random = np.random.default_rng(4)
    columns = [PAGE * np.round(9500 + 10 * random.standard_normal(8)) for _ in range(2)]
    rounds = make_stepped(*columns)
    assert rounds.steps == (0.0, 0.0)
    verdicts = [
        compare_pairs(rounds, alpha=0.05, limit=limit, by_range=by_range)[0].verdict
        for limit, by_range in ((0.01, True), (0.001, True), (0.01, False))
    ]
    assert verdicts == ["unchanged", "cannot tell", "cannot tell"]


def test_memory_that_varies_beside_memory_that_does_not_is_told_apart_by_its_ranks() -> None:
    spread = PAGE * np.round(2600 + 60 * np.random.default_rng(1).standard_normal(40))
    rounds = make_stepped(np.full(40, 2500 * PAGE), spread)
    assert rounds.steps[0] > 0 == rounds.steps[1]
    few = Rounds(NAMES[:2], rounds.numbers[:25], rounds.values[:25], rounds.steps)
    (pair,) = compare_pairs(few, alpha=0.05, limit=0.01)
    assert (pair.verdict, pair.interval.of) == ("more", "typical")
    assert pair.interval.low < 0.04 < pair.interval.high


def test_what_equal_times_would_take_is_no_less_than_what_says_anything_of_means() -> None:
    rounds = make_rounds(draw(1.0, 0.001, 12, 1), draw(1.0, 0.001, 12, 2))
    (pair,) = compare_pairs(rounds, alpha=0.05, limit=0.01)
    assert pair.verdict == "cannot tell"
    assert pair.needed_rounds >= 30


def make_stepped(*columns: np.ndarray) -> Rounds:
    steps = tuple(find_hiding_step(column, np.zeros(len(column), dtype=np.int64)) for column in columns)
    rounds = make_rounds(*columns)
    return Rounds(rounds.packages, rounds.numbers, rounds.values, steps)


@pytest.mark.parametrize(("packages", "fewest"), [(2, 8), (3, 10), (4, 11)])
def test_the_fewest_rounds_that_can_tell_packages_apart_are_those_from_which_they_are(
    packages: int, fewest: int
) -> None:
    assert count_fewest_rounds(packages, 0.05) == fewest
    names = tuple("abcd"[:packages])
    columns = [draw(4.0**number, 0.001, fewest, number) for number in range(packages)]
    values = np.column_stack(columns)

    def judge(count: int) -> set[str]:
        rounds = Rounds(names, tuple(range(1, count + 1)), values[:count])
        return {pair.verdict for pair in compare_pairs(rounds, alpha=0.05, limit=0.01)}

    assert judge(fewest - 1) == {"cannot tell"}
    assert judge(fewest) == {"more"}


def test_no_time_is_told_to_have_become_less_than_none() -> None:
    old = np.array([0.9, 1.0, 1.1, 1.0, 0.95, 1.05, 1.0, 1.0])
    new = np.array([1.0, 0.9, 1.1, 4.0, 1.0, 0.95, 1.0, 1.05])
    [pair] = compare_pairs(make_rounds(old, new), alpha=0.003, limit=0.01)
    whole = bound_relative_difference(old, new, "", 0.003 / PARTS)
    assert (whole.low or 0.0) < -1
    assert (pair.interval.low, pair.interval.high) == (-1, whole.high)
    # Rounds that are needed go with the whole width.
    assert pair.needed_rounds >= count_needed_rounds(whole, 0.01) > count_needed_rounds(pair.interval, 0.01)
    # A response that may be below zero may also become so in the mean.
    new[1] = -0.1
    [pair] = compare_pairs(make_rounds(old, new), alpha=0.003, limit=0.01)
    assert (pair.interval.low or 0.0) < -1
