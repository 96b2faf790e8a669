"""Worked examples: what each strategy chooses and predicts can be followed with a pencil."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from made.suites import make_suite

from datamill import InputError
from datamill.platforms.strategies.linear.least_squares import adjust_r2, fit_many
from datamill.platforms.strategies.linear.mallows_cp import MallowsCp
from datamill.platforms.strategies.many_tasks import BatchedStrategy, LimitedStrategy, ManyTasks
from datamill.platforms.strategies.registry import STRATEGIES, find_strategy
from datamill.platforms.strategies.strategy import Forecast, Task
from datamill.platforms.subsets.best_subsets import best_by_criterion

#: Contrasts of five machines, each at a right angle to the others: sums of squares 10, 14 and 10.
RISING = np.array([-2.0, -1, 0, 1, 2])
BOWED = np.array([2.0, -1, -2, -1, 2])
WAVING = np.array([-1.0, 2, 0, -2, 1])
#: On five machines the application is 30 + 3 rising + 0.75 bowed + waving; the sixth is the target. Residual
#: sums of squares: 17.875 by `rising` alone, 10 by both, 100 by `bowed` alone, in all 107.875.
SUITE = np.column_stack([np.append(RISING + 10, 13.0), np.append(BOWED + 10, 10.0)])
TIMES = 30 + 3 * RISING + 0.75 * BOWED + WAVING


def predict(name: str, suite: np.ndarray, times: np.ndarray, **facts: np.ndarray) -> Forecast:
    trained = np.arange(len(times))
    targets = np.arange(len(times), len(suite))
    return find_strategy(name).forecast(
        Task(suite, trained, targets, times, np.full(len(times), np.nan), facts)
    )


def test_the_largest_adjusted_r2_of_the_worked_example_has_both_predictors() -> None:
    told = predict("adjusted-r2", SUITE, TIMES)
    # 30 + 3·3 + 0.75·0
    assert told.seconds == pytest.approx([39.0])
    assert told.adjusted_r2 == pytest.approx(1 - (10 / 2) / (107.875 / 4))
    assert (told.weights > 0).all()


def test_the_smallest_cp_of_the_worked_example_has_one_predictor() -> None:
    # With variance 10 / 2: Cp is 17.875/5 - 5 + 4 = 2.575 for `rising`, 10/5 - 5 + 6 = 3 for both.
    told = predict("mallows-cp", SUITE, TIMES)
    assert told.seconds == pytest.approx([39.0])
    assert told.adjusted_r2 == pytest.approx(1 - (17.875 / 3) / (107.875 / 4))
    assert told.weights == pytest.approx([1.0, 0.0])


def test_the_best_single_benchmark_is_the_same_in_any_unit() -> None:
    plain = predict("best-single", SUITE, TIMES)
    for unit in (1e-150, 1e150):
        scaled = predict("best-single", SUITE * unit, TIMES * unit)
        assert np.array_equal(scaled.weights > 0, plain.weights > 0)
        assert np.isfinite(scaled.seconds).all()


@pytest.mark.parametrize("name", ["forward", "backward"])
def test_steps_by_cp_end_with_one_predictor_in_the_worked_example(name: str) -> None:
    # Forward: 107.875/5 - 5 + 2 = 18.575, then 2.575; the second would make it 3. Backward: from 3 to 2.575,
    # and without the last it would be 18.575.
    told = predict(name, SUITE, TIMES)
    assert told.seconds == pytest.approx([39.0])
    assert told.weights == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("machines", [4, 7, 10])
def test_a_search_by_cp_from_small_sizes_on_finds_what_a_search_of_all_finds(machines: int) -> None:
    matrix = make_suite(machines + 2, 12, seed=machines, noise=0.1)
    sets = np.array(list(combinations(range(machines + 2), machines)))
    suite, times = matrix.seconds[:, 1:], matrix.seconds[:, 0]
    chosen = MallowsCp().choose(ManyTasks(suite, sets, times[sets])).members
    searched = best_by_criterion(suite, times, list(sets), "cp")
    assert [sorted(row[row >= 0]) for row in chosen] == [sorted(row[row >= 0]) for row in searched.members]
    assert machines == 4 or searched.size.max() > 2


def test_a_limit_of_one_predictor_takes_the_second_away() -> None:
    strategy = find_strategy("adjusted-r2")
    assert isinstance(strategy, LimitedStrategy)
    task = Task(SUITE, np.arange(5), np.array([5]), TIMES, np.full(5, np.nan))
    assert strategy.limit(1).forecast(task).weights == pytest.approx([1.0, 0.0])


def test_the_best_single_benchmark_leaves_the_smallest_residual() -> None:
    told = predict("best-single", SUITE, TIMES)
    assert told.weights == pytest.approx([1.0, 0.0])
    assert told.adjusted_r2 == pytest.approx(1 - (17.875 / 3) / (107.875 / 4))


def test_the_geometric_mean_is_one_predictor_of_equal_parts() -> None:
    # Means 2, 6, 4; the application takes 2·mean + 1; the target's mean is 8.
    suite = np.array([[1.0, 4.0], [4.0, 9.0], [2.0, 8.0], [4.0, 16.0]])
    told = predict("geometric-mean", suite, np.array([5.0, 13.0, 9.0]))
    assert told.seconds == pytest.approx([17.0])
    assert told.weights == pytest.approx([0.5, 0.5])


def test_the_clock_alone_predicts_by_a_line_in_mhz() -> None:
    told = predict(
        "clock", np.ones((4, 2)), np.array([30.0, 20.0, 10.0]), clock_mhz=np.array([1e3, 2e3, 3e3, 2.5e3])
    )
    assert told.seconds == pytest.approx([15.0])
    assert told.weights == pytest.approx([0.0, 0.0])


def test_a_target_of_unknown_clock_is_not_predicted_and_the_others_are() -> None:
    clocks = np.array([1e3, 2e3, 3e3, np.nan, 1.5e3])
    told = predict("clock", np.ones((5, 2)), np.array([30.0, 20.0, 10.0]), clock_mhz=clocks)
    assert np.isnan(told.seconds[0])
    assert told.seconds[1] == pytest.approx(25.0)


def test_the_clock_of_no_machine_is_an_error_that_says_what_to_give() -> None:
    with pytest.raises(InputError, match="no clock") as caught:
        predict("clock", np.ones((4, 2)), np.array([30.0, 20.0, 10.0]))
    assert "clock_mhz" in caught.value.remedy


def test_clusters_take_one_benchmark_of_each_group() -> None:
    # Two groups: multiples of `rising`, and of `waving`; the third machine of six tells them apart.
    rising, waving = np.append(RISING, 3.0), np.append(WAVING, 2.0)
    suite = np.column_stack([20 + rising, 20 + 2 * rising, 20 + waving, 20 + 3 * waving])
    told = predict("clusters", suite, 50 + RISING + 2 * WAVING)
    assert told.seconds == pytest.approx([50 + 3 + 4])
    assert np.count_nonzero(told.weights) == 2


def test_clusters_are_no_more_than_leave_a_degree_of_freedom() -> None:
    draw = np.random.default_rng(4)
    suite, trained = draw.lognormal(size=(9, 12)), np.array([[0, 1, 2, 3]])
    strategy = find_strategy("clusters")
    assert isinstance(strategy, BatchedStrategy)
    many = strategy.forecast_many(ManyTasks(suite, trained, draw.lognormal(size=(1, 4))))
    assert many.predictors == [2]
    assert np.isfinite(many.adjusted_r2).all()


@pytest.mark.parametrize("name", ["best-single", "clusters", "forward", "backward"])
def test_what_must_choose_says_nothing_from_two_machines(name: str) -> None:
    told = predict(name, np.array([[1.0, 2.0], [2.0, 3.0], [3.0, 5.0]]), np.array([4.0, 5.0]))
    assert np.isnan(told.seconds).all()


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_many_forecasts_are_those_of_one_at_a_time(name: str) -> None:
    strategy = find_strategy(name)
    if not isinstance(strategy, BatchedStrategy):
        return
    draw = np.random.default_rng(8)
    suite, times = draw.lognormal(size=(9, 6)), draw.lognormal(size=9)
    facts = {"clock_mhz": draw.lognormal(size=9)}
    sets = np.array([[0, 1, 2, 3, 4, 5], [3, 4, 5, 6, 7, 8], [0, 2, 4, 5, 6, 8]])
    many = strategy.forecast_many(ManyTasks(suite, sets, times[sets], facts))
    for place, trained in enumerate(sets):
        targets = np.setdiff1d(np.arange(9), trained)
        told = strategy.forecast(Task(suite, trained, targets, times[trained], np.full(6, np.nan), facts))
        assert many.seconds[place, targets] == pytest.approx(told.seconds)
        assert many.adjusted_r2[place] == pytest.approx(told.adjusted_r2, nan_ok=True)


def test_a_predictor_that_repeats_another_is_left_out_and_not_halved() -> None:
    columns = np.column_stack([RISING, 2 * RISING, BOWED])
    fits = fit_many(columns, np.array([np.arange(5)]), TIMES[None, :], np.array([[0, 1, 2]]))
    assert fits.members.tolist() == [[0, 2, -1]]
    assert fits.slopes[0] == pytest.approx([3, 0.75, 0])
    assert fits.rss == pytest.approx([10])


def test_a_constant_predictor_leaves_the_mean() -> None:
    fits = fit_many(np.full((5, 1), 7.0), np.array([np.arange(5)]), TIMES[None, :], np.array([[0]]))
    assert fits.predicted == pytest.approx(np.full((1, 5), 30.0))
    assert fits.size == [0]


def test_more_predictors_than_rows_keep_the_first_that_rows_can_tell_apart() -> None:
    draw = np.random.default_rng(2)
    columns, times = draw.normal(size=(3, 6)), draw.normal(size=(1, 3))
    fits = fit_many(columns, np.array([[0, 1, 2]]), times, np.array([[4, 1, 0, 5]]))
    assert fits.members.tolist() == [[4, 1, -1, -1]]
    assert fits.predicted == pytest.approx(times)
    assert np.isnan(adjust_r2(fits, 3)).all()


def test_an_unknown_strategy_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="geometric-mean"):
        find_strategy("geometric_mean")
