"""What is said where the suite tells little: equal machines, few benchmarks, scores that do not overlap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made.suites import make_logs, split_suite

from datamill.experiment.errors import InputError
from datamill.platforms.ensemble.inference import ENSEMBLE_METHODS
from datamill.platforms.ensemble.pseudo_applications import predict_pseudo_applications
from datamill.platforms.prediction.predict_platforms import predict_platforms
from datamill.platforms.ranking.rank_machines import rank_machines
from datamill.verbs.platforms.predict import predict_platforms as predict_from_files


def test_a_suite_that_is_the_same_everywhere_does_not_promise_exact_predictions() -> None:
    matrix, application, times = split_suite(make_logs(16, 16, 3), 2, 7)
    found = predict_platforms(replace(matrix, seconds=np.full_like(matrix.seconds, 7.0)), application)
    inside = [item.low <= time <= item.high for item, time in zip(found.predictions, times[7:], strict=True)]
    assert sum(inside) >= 7
    assert all(item.refused for item in found.predictions)
    # Its times on the measured machines keep the other intervals from being absurdly wide.
    assert all(item.high / item.low < 1000 for item in found.predictions)


def test_of_three_benchmarks_hardly_a_prediction_is_bad_that_is_not_refused() -> None:
    bad = kept = 0
    for seed in range(10):
        matrix, application, times = split_suite(make_logs(16, 4, seed, own=0.1), 1, 3)
        for item, time in zip(predict_platforms(matrix, application).predictions, times[3:], strict=True):
            bad += not item.refused and abs(item.seconds / time - 1) > 0.25
            kept += not item.refused
    assert bad <= 0.05 * max(kept, 1)


def test_a_larger_limit_refuses_fewer_with_less_risk() -> None:
    matrix, application, _ = split_suite(make_logs(16, 12, 4, own=0.1), 1, 5)
    usual, lax = (predict_platforms(matrix, application, limit=limit) for limit in (0.25, 1.0))
    refused = [sum(item.refused for item in found.predictions) for found in (usual, lax)]
    assert refused[0] > refused[1]
    for strict, loose in zip(usual.predictions, lax.predictions, strict=True):
        assert 0 <= loose.risk <= strict.risk <= 1
        assert loose.high == strict.high
    with pytest.raises(InputError, match="limit"):
        predict_from_files(matrix, application, limit=50)


def test_benchmarks_that_no_target_has_tell_nothing_and_break_nothing() -> None:
    matrix, application, _ = split_suite(make_logs(12, 14, 3), 2, 6)
    seconds = matrix.seconds.copy()
    seconds[7, :8] = np.nan
    seconds[2:4, 8:] = np.nan
    # On m7 no benchmark has a score that has one on all machines that measured the application.
    suite = replace(matrix, seconds=seconds)
    alone = predict_platforms(suite.keep_machines((*matrix.machines[:6], "m7")), application)
    assert alone.predictions[0].low < alone.predictions[0].seconds < alone.predictions[0].high
    assert any("too few to learn from them" in warning for warning in alone.warnings)
    among = {item.machine: item for item in predict_platforms(suite, application).predictions}
    assert np.isfinite(among["m7"].high)
    ranking = rank_machines(suite, application)
    assert all(np.isfinite(item.best) for item in ranking.machines)


def test_benchmarks_that_nearly_all_trained_machines_have_tell_of_errors_as_well() -> None:
    logs = make_logs(20, 16, 5, own=0.02)
    gaps = np.random.default_rng(8).random((20, 15)) < 0.2
    matrix, application, times = split_suite(logs, 2, 7)
    found = predict_platforms(replace(matrix, seconds=np.where(gaps, np.nan, matrix.seconds)), application)
    assert (~gaps[:7]).all(axis=0).sum() < 4
    assert not any("too few to learn from them" in warning for warning in found.warnings)
    inside = [item.low <= time <= item.high for item, time in zip(found.predictions, times[7:], strict=True)]
    assert sum(inside) >= 11
    assert sum(not item.refused for item in found.predictions) >= 5


def test_what_a_benchmark_does_on_targets_does_not_fill_its_gaps_where_it_is_the_application() -> None:
    logs = make_logs(12, 8, 6, own=0.02)
    observed = np.ones(logs.shape, dtype=np.bool_)
    observed[2, 3] = False
    poisoned = logs.copy()
    poisoned[5:, 3] += 3.0
    first, other = (
        predict_pseudo_applications(values, observed, 5, ENSEMBLE_METHODS) for values in (logs, poisoned)
    )
    row = list(first.taken).index(3)
    # The same predictions against other truths.
    assert np.allclose(first.errors[:, row] - other.errors[:, row], 3.0)


def test_a_machine_that_shares_no_benchmark_with_the_measured_ones_is_refused() -> None:
    matrix, application, _ = split_suite(make_logs(12, 12, 5, own=0.01, spread=0.1), 2, 6)
    seconds = matrix.seconds.copy()
    seconds[:6, 6:] = np.nan
    seconds[6:9, :6] = np.nan
    seconds[9, 2:6] = np.nan
    found = predict_platforms(replace(matrix, seconds=seconds), application)
    by_machine = {item.machine: item for item in found.predictions}
    for name in ("m6", "m7", "m8", "m9"):
        assert [refusal.cause for refusal in by_machine[name].refusals] == ["scores"]
        assert np.isnan(by_machine[name].seconds)
    assert "only 2 scores of it that can be compared" in by_machine["m9"].refusals[0].sentence
    assert "no score of it that can be compared" in by_machine["m6"].refusals[0].sentence
    assert not by_machine["m10"].refused


@pytest.mark.parametrize("difference", [0.0, 0.001, 0.005])
def test_copies_of_a_benchmark_promise_no_smaller_errors(difference: float) -> None:
    logs = make_logs(14, 12, 9, own=0.05)
    noise = np.random.default_rng(9).normal(0, difference, (14, 11))
    copied = np.column_stack([logs, logs[:, [0]] + noise])
    (plain, own, _), (full, same, _) = split_suite(logs, 11, 6), split_suite(copied, 11, 6)
    assert list(own.seconds) == list(same.seconds)
    usual, among_copies = predict_platforms(plain, own), predict_platforms(full, same)
    # Of 22 benchmarks twelve are alike: each of these as an application of its own has no error.
    assert among_copies.suite_error > 0.7 * usual.suite_error
    widths = [
        np.median([np.log(item.high / item.low) for item in found.predictions])
        for found in (usual, among_copies)
    ]
    assert widths[1] > 0.7 * widths[0]
