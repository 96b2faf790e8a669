"""One look at a sequential experiment: what it sees, decides and says."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm, skew, t

from datamill.analysis.sequential.boundaries import (
    find_anytime_critical,
    find_stopped_critical,
    widen_for_skewness,
)
from datamill.analysis.sequential.doubts import list_doubts, measure_dependence
from datamill.analysis.sequential.intervals import bound_relative_difference, bound_stopped_mean
from datamill.analysis.sequential.look import decide_look
from datamill.analysis.sequential.rounds import Rounds
from datamill.analysis.sequential.steps import find_hiding_step
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.file.parse import parse_experiment

TEXT = """
[experiment]
name = "sequential"
[[package]]
name = "old"
path = "a"
[[package]]
name = "new"
path = "b"
[replication]
until = {until}
max_trials = 500
max_time = "1 h"
"""
DETECT = '{ detect = "10%" }'
NARROW = '{ half_width = "1%" }'


def read(until: str) -> Experiment:
    return parse_experiment(TEXT.replace("{until}", until), name="experiment.toml")


def make_rounds(*columns: np.ndarray) -> Rounds:
    return Rounds(("old", "new"), tuple(range(1, len(columns[0]) + 1)), np.stack(columns, axis=1))


def draw(mean: float, spread: float, rounds: int, seed: int) -> np.ndarray:
    return mean * (1 + spread * np.random.default_rng(seed).standard_normal(rounds))


def look(experiment: Experiment, rounds: Rounds, **changes):
    options = {"look": 3, "trials": 40, "elapsed_s": 10.0, "next_trials": 2} | changes
    return decide_look(experiment, rounds, **options)


@pytest.mark.parametrize(("n", "alpha"), [(5, 0.05), (12, 0.05), (40, 0.01), (200, 0.2)])
def test_at_the_critical_value_the_averaged_likelihood_ratio_is_one_over_alpha(n: int, alpha: float) -> None:
    """By adding up likelihoods over effects, normal with variance 1, and over σ by its right Haar prior."""
    critical = float(find_anytime_critical(np.array([n]), alpha)[0])
    mean, squares = critical / math.sqrt(n), n - 1.0
    effects = np.linspace(-8, 8, 1601)[:, None]
    log_sigma = np.linspace(-5, 9, 2801)[None, :]

    def weigh(effect: np.ndarray) -> np.ndarray:
        sigma = np.exp(log_sigma)
        return np.exp(-n * log_sigma - (squares + n * (mean - sigma * effect) ** 2) / (2 * sigma**2))

    averaged = (norm.pdf(effects) * weigh(effects)).sum() * 0.01
    assert averaged / weigh(np.zeros((1, 1))).sum() == pytest.approx(1 / alpha, rel=1e-6)


def test_no_critical_value_exists_for_rounds_too_few_to_show_anything() -> None:
    assert np.isinf(find_anytime_critical(np.array([2, 3, 4]), 0.05)).all()
    assert np.isfinite(find_anytime_critical(np.array([5, 6]), 0.05)).all()


def test_anytime_critical_values_exceed_students_and_so_do_those_of_stopped_intervals() -> None:
    n = np.arange(5, 1000)
    student = t.ppf(0.975, n - 1)
    assert (find_anytime_critical(n, 0.05) > student).all()
    assert (find_stopped_critical(n, 0.95) > student).all()


def test_the_interval_holds_just_those_ratios_that_students_statistic_does_not_refute() -> None:
    old, new = draw(1.0, 0.05, 12, 1), draw(1.2, 0.05, 12, 2)
    interval = bound_relative_difference(old, new, "new against old", 0.05)
    critical = float(find_anytime_critical(np.array([12]), 0.05)[0])
    skewness = skew(new - (1 + interval.estimate) * old, bias=False)
    wider = float(widen_for_skewness(np.array(critical), np.array(skewness), np.array(12)))
    assert wider > 1.01 * critical
    # Differences that are skewed to the right make a mean seem too low with too little spread.
    reaches = (critical, wider) if skewness > 0 else (wider, critical)
    for bound, reach in zip((interval.low, interval.high), reaches, strict=True):
        rest = new - (1 + bound) * old
        statistic = rest.mean() / (rest.std(ddof=1) / math.sqrt(12))
        assert abs(statistic) == pytest.approx(reach, rel=1e-9)
    turned = bound_relative_difference(-old, -new, "new against old", 0.05)
    assert (turned.low, turned.high) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize("skewness", [-1.5, 0.0, 1e-9, 0.3, 2.0, 6.0])
def test_the_wider_critical_value_is_where_halls_transformation_comes_to_the_plain_one(
    skewness: float,
) -> None:
    critical, n = 3.2, 16
    wider = float(widen_for_skewness(np.array(critical), np.array(skewness), np.array(n)))
    shift = -abs(skewness) / math.sqrt(n)
    transformed = wider + shift * wider**2 / 3 + shift**2 * wider**3 / 27 + shift / 6
    assert transformed == pytest.approx(critical, rel=1e-6)
    assert wider == critical if abs(skewness) < 1e-8 else wider > critical


def test_the_interval_of_a_mean_is_wider_where_its_values_have_their_tail() -> None:
    values = np.exp(np.random.default_rng(3).standard_normal(20))
    for sign in (1, -1):
        interval = bound_stopped_mean(sign * values, "old", 0.95)
        reach = float(find_stopped_critical(np.array([20]), 0.95)[0]) * values.std(ddof=1) / math.sqrt(20)
        low, high = interval.estimate - interval.low, interval.high - interval.estimate
        assert (low if sign == 1 else high) == pytest.approx(reach)
        assert (high if sign == 1 else low) > 1.1 * reach


def test_a_rule_that_is_met_by_few_rounds_warns_that_rare_slow_runs_may_all_be_missing() -> None:
    few = look(read(DETECT), make_rounds(draw(1.0, 0.02, 18, 1), draw(1.2, 0.02, 18, 2)))
    assert few.warnings[0].startswith("it stopped after 18 rounds: if runs are slow only now and then")
    assert "15% of such experiments meet none" in few.warnings[0]
    many = look(read(DETECT), make_rounds(draw(1.0, 0.02, 30, 1), draw(1.2, 0.02, 30, 2)))
    assert (many.cause, many.warnings) == ("changed", ())
    goes_on = look(read(DETECT), make_rounds(draw(1.0, 0.3, 20, 1), draw(1.05, 0.3, 20, 2)))
    assert (goes_on.cause, goes_on.warnings) == ("not yet", ())


def test_rounds_that_follow_each_other_alike_are_called_dependent_with_what_it_means() -> None:
    wave = 0.05 * np.sin(np.arange(40) / 6)
    noise = draw(1.0, 0.01, 40, 1)
    of_one = look(read(DETECT), make_rounds(noise + wave, draw(1.0, 0.01, 40, 2)))
    (doubt,) = [text for text in of_one.warnings if "resemble each other" in text]
    assert doubt.startswith("successive rounds of new against old resemble each other (autocorrelation 0.9")
    assert "times as wide" in doubt
    # What both packages share cancels in their comparison, and spoils their means.
    shared = make_rounds(noise + wave, draw(1.0, 0.01, 40, 2) + wave)
    assert not look(read(DETECT), shared).warnings
    assert [text.split(" resemble")[0] for text in look(read(NARROW), shared).warnings] == [
        "successive rounds of old",
        "successive rounds of new",
    ]


def test_independent_rounds_are_seldom_called_dependent_and_dependent_ones_mostly() -> None:
    rng = np.random.default_rng(5)
    for n in (15, 60):
        alarms = sum(measure_dependence(rng.standard_normal(n))[1] < 0.01 for _ in range(4000))
        assert alarms <= binom.ppf(0.9999, 4000, 0.01)
    noise = rng.standard_normal((500, 61))
    for at in range(1, 61):
        noise[:, at] = 0.5 * noise[:, at - 1] + math.sqrt(0.75) * noise[:, at]
    assert np.mean([measure_dependence(row)[1] < 0.01 for row in noise]) > 0.85


def test_a_planted_change_stops_the_experiment_and_is_the_reason() -> None:
    decision = look(read(DETECT), make_rounds(draw(1.0, 0.02, 18, 1), draw(1.2, 0.02, 18, 2)))
    assert (decision.decision, decision.cause) == ("stop", "changed")
    assert decision.reason.startswith("wall_time has changed: new against old +")
    assert "95% sequential interval" in decision.reason
    assert decision.intervals[0].low is not None
    assert decision.intervals[0].low < 0.2 < decision.intervals[0].high


def test_the_baseline_is_what_the_other_package_is_compared_with() -> None:
    rounds = make_rounds(draw(1.0, 0.02, 8, 1), draw(1.25, 0.02, 8, 2))
    decision = look(replace(read(DETECT), baseline="new"), rounds)
    assert decision.intervals[0].name == "old against new"
    assert decision.intervals[0].estimate == pytest.approx(-0.2, abs=0.03)


def test_alike_packages_stop_it_once_a_difference_as_large_is_ruled_out() -> None:
    decision = look(read(DETECT), make_rounds(draw(1.0, 0.02, 18, 1), draw(1.0, 0.02, 18, 2)))
    assert (decision.decision, decision.cause) == ("stop", "no difference")
    assert "does not differ by 10% or more" in decision.reason
    assert "80% sequential interval" in decision.reason


def test_no_rule_stops_before_fifteen_complete_rounds() -> None:
    sure = make_rounds(draw(1.0, 1e-4, 14, 1), draw(2.0, 1e-4, 14, 2))
    early = look(read(DETECT), sure)
    assert early.decision == "go on"
    assert early.reason.startswith("not yet (no rule stops before 15 rounds): new against old +")
    assert look(read(NARROW), sure).decision == "go on"


def test_noise_lets_it_go_on_until_a_bound_stops_it_and_says_which() -> None:
    noisy = make_rounds(draw(1.0, 0.3, 20, 1), draw(1.05, 0.3, 20, 2))
    assert look(read(DETECT), noisy).cause == "not yet"
    last = look(read(DETECT), noisy, next_trials=0)
    assert (last.decision, last.cause) == ("stop", "max_trials")
    assert "the 40 trials allowed have ended before the rule was met" in last.reason
    late = look(read(DETECT), noisy, elapsed_s=3550.0)
    assert (late.decision, late.cause) == ("stop", "max_time")
    assert "leaves no room for another batch" in late.reason


def test_a_rule_that_is_met_at_the_bound_is_the_reason_rather_than_the_bound() -> None:
    rounds = make_rounds(draw(1.0, 0.02, 18, 1), draw(1.2, 0.02, 18, 2))
    assert look(read(DETECT), rounds, next_trials=0, elapsed_s=9999.0).cause == "changed"


def test_precise_means_stop_it_only_when_every_package_is_precise() -> None:
    quiet, noisy = draw(3.0, 0.001, 18, 1), draw(3.0, 0.1, 18, 2)
    decision = look(read(NARROW), make_rounds(quiet, quiet))
    assert (decision.decision, decision.cause) == ("stop", "precise")
    assert [interval.name for interval in decision.intervals] == ["old", "new"]
    assert look(read(NARROW), make_rounds(quiet, noisy)).cause == "not yet"


def test_rounds_that_lost_a_trial_take_no_part_and_are_named() -> None:
    old, new = draw(1.0, 0.02, 9, 1), draw(1.2, 0.02, 9, 2)
    new[4] = np.nan
    decision = look(read(DETECT), make_rounds(old, new))
    assert decision.intervals[0].rounds == 8
    assert decision.warnings[0].startswith("1 of 9 rounds lack a valid observation")
    timed = list_doubts(read(DETECT), make_rounds(old, new), "not yet", decision.intervals, timed=True)
    assert timed[0].startswith("1 of 9 rounds have an execution that failed and are left out")


def test_nothing_complete_is_said_and_goes_on() -> None:
    nothing = np.full(3, np.nan)
    for until in (DETECT, NARROW):
        decision = look(read(until), make_rounds(nothing, nothing))
        assert (decision.decision, decision.intervals) == ("go on", ())
        assert decision.reason == "not yet (no rule stops before 15 rounds): no round is complete yet"


def test_values_that_never_vary_decide_and_are_called_suspicious() -> None:
    alike = look(read(DETECT), make_rounds(np.full(16, 3.1), np.full(16, 3.1)))
    assert alike.cause == "no difference"
    assert any("rounds do not differ at all" in warning for warning in alike.warnings)
    assert look(read(DETECT), make_rounds(np.full(16, 3.1), np.full(16, 3.2))).cause == "changed"


def test_equal_values_of_a_coarse_clock_are_no_certainty() -> None:
    """Five times 1.23 s tell of a mean between 1.22 and 1.24, not of one that is known to every digit."""
    seen = replace(make_rounds(np.full(16, 1.23), np.full(16, 1.24)), steps=(0.01, 0.01))
    decision = look(read(DETECT), seen)
    assert decision.cause == "no difference"
    assert decision.intervals[0].low == pytest.approx(0.0, abs=1e-4)
    assert decision.intervals[0].high == pytest.approx(0.02 / 1.23, rel=0.01)
    assert any("steps of 0.01, which hide how much they vary" in warning for warning in decision.warnings)
    assert look(read('{ half_width = "0.5%" }'), seen).cause == "not yet"
    precise = look(read(NARROW), seen)
    assert (precise.cause, precise.intervals[0].half_width) == ("precise", pytest.approx(0.01 / 1.23))
    apart = replace(make_rounds(np.full(16, 1.23), np.full(16, 1.26)), steps=(0.01, 0.01))
    assert look(read(DETECT), apart).cause == "changed"


@pytest.mark.parametrize(
    ("values", "groups", "step"),
    [
        ([1.23] * 6, [0] * 6, 0.01),
        ([14.0] * 9 + [15.0], [0] * 10, 1.0),
        ([15.6e6] * 9 + [31.2e6], [0] * 10, 15.6e6),
        # Clock ticks that vary enough average out; so do values that are all different.
        ([1.23, 1.24] * 4, [0] * 8, 0.0),
        ([0.101234, 0.101299, 0.101301, 0.101398], [0] * 4, 0.0),
        # Exact counts of two design points are not steps of their difference.
        ([1e6] * 5 + [2e6] * 5, [0] * 5 + [1] * 5, 1.0),
        ([0.0] * 5, [0] * 5, 1.0),
    ],
)
def test_steps_that_hide_the_spread_of_values_are_found(
    values: list[float], groups: list[int], step: float
) -> None:
    assert find_hiding_step(np.array(values), np.array(groups)) == pytest.approx(step)


def test_rounds_that_are_equal_pair_by_pair_do_not_differ_by_rounding() -> None:
    values = draw(0.3, 0.05, 18, 1)
    assert look(read(DETECT), make_rounds(values, values)).cause == "no difference"


def test_a_baseline_of_zero_has_no_relative_difference_and_stops_nothing() -> None:
    decision = look(read(DETECT), make_rounds(np.zeros(8), draw(1.0, 0.1, 8, 1)))
    assert decision.cause == "not yet"
    assert "cannot be expressed as a share" in decision.reason


def test_an_experiment_without_a_rule_cannot_be_looked_at() -> None:
    with pytest.raises(InputError, match="no rule to stop by"):
        look(replace(read(DETECT), until=None), make_rounds(np.ones(5), np.ones(5)))


def test_heavy_tails_of_one_package_err_early_and_are_warned_of_there() -> None:
    """Samples that stop the rule by mistake lack the tail, so that nothing in them shows it."""
    rng = np.random.default_rng(5)
    late, early, replications = 0, 0, 100
    for _ in range(replications):
        steady = 100 * (1 + 0.02 * rng.standard_normal(60))
        heavy = 100 * (1 + 0.05 * ((1 - rng.random(60)) ** (-1 / 2.5) - 5 / 3))
        for rounds in range(15, 61, 5):
            interval = bound_relative_difference(steady[:rounds], heavy[:rounds], "new", 0.05)
            if interval.low is not None and (interval.low > 0 or (interval.high or 0.0) < 0):
                early, late = early + (rounds < 30), late + (rounds >= 30)
                break
    assert late <= binom.ppf(0.999, replications, 0.05)
    assert early > 0, "the reason for the warning"
    found = look(read(DETECT), make_rounds(draw(100, 0.02, 18, 1), draw(40, 0.02, 18, 2)))
    assert found.decision == "stop"
    assert any("at alpha 0.05, where one package alone has Pareto" in warning for warning in found.warnings)


def test_heavy_tails_that_thirty_rounds_may_not_have_met_are_warned_of() -> None:
    """Pareto with an index of 1.5: samples that mislead lack extremes, but seldom all of the tail."""
    rng = np.random.default_rng(7)
    fine = read('{ detect = "1%" }')
    misled = warned = alarms = 0
    for _ in range(200):
        steady = 100 * (1 + 0.001 * rng.standard_normal(90))
        heavy = 100 * (1 + 0.05 * ((1 - rng.random(90)) ** (-1 / 1.5) - 3))
        for rounds in range(30, 91, 20):
            found = look(fine, make_rounds(steady[:rounds], heavy[:rounds]))
            if found.cause == "changed":
                misled += 1
                warned += any("rounds of new (L-skewness 0." in text for text in found.warnings)
                break
        calm = draw(100, 0.02, 40, int(rng.integers(1e9))), draw(140, 0.02, 40, int(rng.integers(1e9)))
        alarms += "heavy tail" in " ".join(look(read(DETECT), make_rounds(*calm)).warnings)
    assert warned >= 3, "the reason for the warning"
    assert misled - warned <= binom.ppf(0.999, 200, 0.025)
    assert alarms == 0
