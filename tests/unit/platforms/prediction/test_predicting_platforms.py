"""Predictions of an application on machines that did not measure it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made.suites import make_logs, split_suite

from datamill.experiment.errors import InputError
from datamill.platforms.prediction.missing_cells import fill_cells
from datamill.platforms.prediction.platform_prediction import PlatformPrediction
from datamill.platforms.prediction.predict_platforms import predict_platforms
from datamill.platforms.scores.score_matrix import ScoreMatrix


def list_seconds(prediction: PlatformPrediction) -> list[float]:
    return [item.seconds for item in prediction.predictions]


def test_an_application_is_predicted_within_its_intervals() -> None:
    matrix, application, times = split_suite(make_logs(16, 20, 1), 4, 7)
    found = predict_platforms(matrix, application)
    truth = dict(zip(matrix.machines, times, strict=True))
    inside = [item.low <= truth[item.machine] <= item.high for item in found.predictions]
    assert [item.machine for item in found.predictions] == list(matrix.machines[7:])
    assert sum(inside) >= 7
    assert all(abs(item.seconds / truth[item.machine] - 1) < 0.3 for item in found.predictions)
    assert found.trained == application.machines
    assert sum(item.share for item in found.benchmarks) == pytest.approx(1)
    assert sum(item.share for item in found.machines) == pytest.approx(1)


def test_nothing_of_a_target_but_its_scores_is_used() -> None:
    logs = make_logs(14, 12, 2)
    matrix, application, _ = split_suite(logs, 3, 6)
    poisoned = logs.copy()
    poisoned[6:, 3] = 50.0
    again, same, _ = split_suite(poisoned, 3, 6)
    assert list_seconds(predict_platforms(again, same)) == list_seconds(
        predict_platforms(matrix, application)
    )


@pytest.mark.parametrize("strategy", ["ensemble", "transposed-ridge", "gaussian-process", "mixture"])
def test_units_and_orders_change_nothing(strategy: str) -> None:
    matrix, application, _ = split_suite(make_logs(12, 10, 3), 2, 6)
    plain = predict_platforms(matrix, application, strategy=strategy)
    scales = np.geomspace(0.01, 1000, len(matrix.benchmarks))
    backwards = matrix.benchmarks[::-1]
    machines = (*matrix.machines[6:], *matrix.machines[:6][::-1])
    other = (
        replace(matrix, seconds=matrix.seconds * scales).keep_benchmarks(backwards).keep_machines(machines)
    )
    found = predict_platforms(
        other, replace(application, seconds=application.seconds * 60), strategy=strategy
    )
    by_machine = {item.machine: item for item in found.predictions}
    for item in plain.predictions:
        moved = by_machine[item.machine]
        assert moved.seconds / 60 == pytest.approx(item.seconds, rel=1e-6)
        assert moved.low / 60 == pytest.approx(item.low, rel=1e-5)
        assert moved.refused == item.refused


def test_scores_are_predicted_as_scores_with_their_interval_the_right_way_round() -> None:
    matrix, application, _ = split_suite(make_logs(12, 10, 4), 2, 6)
    times = predict_platforms(matrix, application)
    scores = predict_platforms(matrix, replace(application, kind="score"))
    for time, score in zip(times.predictions, scores.predictions, strict=True):
        assert score.seconds == pytest.approx(1 / time.seconds)
        assert score.low == pytest.approx(1 / time.high)
        assert score.low < score.seconds < score.high


def test_an_application_that_no_benchmark_resembles_is_refused_for_that() -> None:
    logs = make_logs(16, 20, 5, own=0.01, spread=0.1)
    logs[:, 4] += np.random.default_rng(5).normal(0, 0.5, len(logs))
    matrix, application, _ = split_suite(logs, 4, 8)
    found = predict_platforms(matrix, application)
    assert all(item.refused for item in found.predictions)
    assert {reason.cause for item in found.predictions for reason in item.refusals} == {"application"}


def test_a_machine_on_which_the_suite_itself_is_mispredicted_is_refused_for_that() -> None:
    logs = make_logs(16, 20, 6, own=0.01, spread=0.1)
    logs[12] += np.random.default_rng(6).normal(0, 0.6, logs.shape[1])
    matrix, application, _ = split_suite(logs, 4, 8)
    found = {item.machine: item for item in predict_platforms(matrix, application).predictions}
    assert found["m12"].refused
    assert "target" in {reason.cause for reason in found["m12"].refusals}
    assert sum(item.refused for item in found.values()) == 1


def test_the_noise_of_replicates_widens_intervals() -> None:
    matrix, application, _ = split_suite(make_logs(14, 16, 7, own=0.005), 3, 7)
    sure = predict_platforms(matrix, application)
    unsure = predict_platforms(matrix, replace(application, noise=np.full(7, 0.2)))
    for first, second in zip(sure.predictions, unsure.predictions, strict=True):
        assert second.seconds == pytest.approx(first.seconds)
        assert second.high / second.low > 1.05 * first.high / first.low


def test_gaps_are_filled_in_and_said() -> None:
    logs = make_logs(16, 20, 8, own=0.01)
    matrix, application, times = split_suite(logs, 4, 8)
    seconds = matrix.seconds.copy()
    seconds[np.random.default_rng(8).random(seconds.shape) < 0.1] = np.nan
    found = predict_platforms(replace(matrix, seconds=seconds), application)
    truth = dict(zip(matrix.machines, times, strict=True))
    assert any("missing" in warning for warning in found.warnings)
    assert np.median([abs(item.seconds / truth[item.machine] - 1) for item in found.predictions]) < 0.1


def test_filled_in_cells_come_near_the_truth_and_known_ones_stay() -> None:
    logs = make_logs(20, 15, 9, own=0.01)
    gaps = np.random.default_rng(9).random(logs.shape) < 0.1
    filled = fill_cells(np.where(gaps, np.nan, logs))
    assert np.array_equal(filled[~gaps], logs[~gaps])
    assert np.median(np.abs(filled[gaps] - logs[gaps])) < 0.1


def test_a_machine_with_hardly_any_scores_is_refused_and_does_not_spoil_the_others() -> None:
    matrix, application, _ = split_suite(make_logs(12, 10, 10), 2, 6)
    seconds = matrix.seconds.copy()
    seconds[11, 1:] = np.nan
    found = {
        item.machine: item
        for item in predict_platforms(replace(matrix, seconds=seconds), application).predictions
    }
    assert [reason.cause for reason in found["m11"].refusals] == ["scores"]
    assert np.isnan(found["m11"].seconds)
    assert np.isfinite(found["m10"].seconds)


def test_small_suites_take_intervals_from_the_machines_and_say_so() -> None:
    matrix, application, _ = split_suite(make_logs(12, 3, 11), 2, 6)
    found = predict_platforms(matrix, application)
    assert any("too few" in warning for warning in found.warnings)
    assert all(item.low < item.seconds < item.high for item in found.predictions)


@pytest.mark.parametrize("trained", [1, 2, 3])
def test_few_machines_give_wide_intervals_rather_than_an_error(trained: int) -> None:
    matrix, application, _ = split_suite(make_logs(10, 12, 12), 2, trained)
    found = predict_platforms(matrix, application)
    assert all(item.low < item.seconds < item.high for item in found.predictions)
    assert np.isfinite([item.seconds for item in found.predictions]).all()


def test_machines_that_are_all_alike_are_predicted_alike() -> None:
    seconds = np.ones((6, 8)) * np.arange(1, 9)
    machines = tuple(f"m{row}" for row in range(6))
    matrix = ScoreMatrix(machines, tuple("abcdefgh"), seconds, np.full(seconds.shape, np.nan))
    application = replace(split_suite(make_logs(6, 3, 1), 0, 3)[1], seconds=np.array([5.0, 5.0, 5.0]))
    found = predict_platforms(matrix, application)
    assert list_seconds(found) == pytest.approx([5.0] * 3)


def test_what_cannot_be_predicted_is_an_error_with_a_remedy() -> None:
    matrix, application, _ = split_suite(make_logs(10, 8, 13), 2, 4)
    with pytest.raises(InputError, match="no machine has both"):
        predict_platforms(matrix, replace(application, machines=tuple("wxyz")))
    with pytest.raises(InputError, match="no machine is left"):
        predict_platforms(matrix.keep_machines(matrix.machines[:4]), application)
    with pytest.raises(InputError, match="confidence"):
        predict_platforms(matrix, application, confidence=1.0)
    with pytest.raises(InputError, match="no strategy"):
        predict_platforms(matrix, application, strategy="guess")


def test_a_strategy_of_the_thesis_gets_intervals_from_its_own_errors() -> None:
    matrix, application, _ = split_suite(make_logs(16, 12, 14), 3, 7)
    wide = predict_platforms(matrix, application, strategy="mallows-cp")
    narrow = predict_platforms(matrix, application)
    widths = [
        np.median([np.log(item.high / item.low) for item in found.predictions]) for found in (wide, narrow)
    ]
    assert widths[0] > widths[1]


def test_a_suite_of_one_benchmark_predicts_by_it() -> None:
    logs = make_logs(8, 2, 15)
    matrix, application, _ = split_suite(logs, 1, 4)
    found = predict_platforms(matrix, application)
    assert all(item.low < item.seconds < item.high for item in found.predictions)


def test_a_suite_full_of_gaps_still_answers() -> None:
    logs = make_logs(14, 13, 16)
    matrix, application, _ = split_suite(logs, 12, 5)
    gaps = np.random.default_rng(16).random(matrix.seconds.shape) < 0.5
    found = predict_platforms(replace(matrix, seconds=np.where(gaps, np.nan, matrix.seconds)), application)
    assert found.warnings
    assert all(np.isfinite(item.seconds) or item.refused for item in found.predictions)
