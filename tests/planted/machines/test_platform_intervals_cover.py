"""Prediction intervals of platforms cover at their rate on unlike suites; refusals keep errors out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made.suites import make_logs, split_suite

from datamill.platforms.ensemble.inference import find_half_widths, infer_application
from datamill.platforms.prediction.predict_platforms import predict_platforms
from datamill.platforms.prediction.refusals import find_refusals


@pytest.mark.parametrize(
    ("machines", "benchmarks", "factors", "own", "spread"),
    [(14, 20, 3, 0.02, 0.15), (20, 12, 2, 0.1, 0.3), (30, 10, 5, 0.05, 0.4)],
    ids=["alike", "noisy", "unlike"],
)
def test_intervals_cover_as_often_as_they_say(
    machines: int, benchmarks: int, factors: int, own: float, spread: float
) -> None:
    covered = []
    for seed in range(3):
        logs = make_logs(machines, benchmarks, seed, factors=factors, own=own, spread=spread)
        for column in range(benchmarks):
            matrix, application, times = split_suite(logs, column, 7)
            truth = dict(zip(matrix.machines, times, strict=True))
            found = predict_platforms(matrix, application, confidence=0.9)
            covered.append(
                np.mean([item.low <= truth[item.machine] <= item.high for item in found.predictions])
            )
    # The benchmarks of one suite and the three suites leave a standard error of about 1.5 points.
    assert np.mean(covered) == pytest.approx(0.9, abs=0.045)


def test_a_suite_that_has_each_benchmark_twice_tells_the_same_errors() -> None:
    covered = []
    for seed in range(3):
        logs = make_logs(20, 15, seed, own=0.05, spread=0.2)
        for column in range(0, 15, 3):
            matrix, application, times = split_suite(logs, column, 7)
            again = matrix.seconds * np.exp(
                np.random.default_rng(seed).normal(0, 0.002, matrix.seconds.shape)
            )
            twice = replace(
                matrix,
                benchmarks=(*matrix.benchmarks, *(f"{name} again" for name in matrix.benchmarks)),
                seconds=np.hstack([matrix.seconds, again]),
                noise=np.hstack([matrix.noise, matrix.noise]),
            )
            once, both = predict_platforms(matrix, application), predict_platforms(twice, application)
            assert both.suite_error == pytest.approx(once.suite_error, rel=0.2)
            truth = dict(zip(matrix.machines, times, strict=True))
            covered += [item.low <= truth[item.machine] <= item.high for item in both.predictions]
    # Predicted from its copy each benchmark would err by next to nothing, and a third would be covered.
    assert np.mean(covered) == pytest.approx(0.9, abs=0.07)


def test_what_is_not_refused_is_covered_where_few_benchmarks_leave_little() -> None:
    inside, refused = [], []
    for seed in range(100):
        logs = make_logs(14, 9, 300 + seed)
        order = np.random.default_rng(seed).permutation(14)
        suite, own = logs[order, :8], logs[order, 8]
        found = infer_application(suite, np.ones(suite.shape, dtype=np.bool_), own[:6])
        kept = np.array([not item for item in find_refusals(found, [str(place) for place in range(8)])])
        covered = np.abs(found.logs - own[6:]) <= find_half_widths(found, 0.9)
        inside += covered[kept].tolist()
        refused += (~kept).tolist()
    assert 0.5 < np.mean(refused) < 0.8
    # Where sizes of error are believed as a scale fitted to all eight tells them, 83% are inside.
    assert np.mean(inside) == pytest.approx(0.91, abs=0.04)


def test_what_is_not_refused_errs_less_than_the_limit_nearly_always() -> None:
    errors, refused, risks = [], [], []
    for seed in range(3):
        logs = make_logs(18, 16, 50 + seed, own=0.02, spread=0.12)
        # One machine and one benchmark are unlike all others.
        random = np.random.default_rng(seed)
        logs[15] += random.normal(0, 0.4, 16)
        logs[:, 0] += random.normal(0, 0.3, 18)
        for column in range(16):
            matrix, application, times = split_suite(logs, column, 7)
            truth = dict(zip(matrix.machines, times, strict=True))
            for item in predict_platforms(matrix, application).predictions:
                refused.append(item.refused)
                risks.append(item.risk)
                errors.append(abs(item.seconds / truth[item.machine] - 1))
    kept = np.asarray(errors)[~np.asarray(refused)]
    assert np.mean(np.asarray(errors) > 0.25) > 0.05
    assert len(kept) > 0.4 * len(errors)
    assert np.mean(kept > 0.25) < 0.01
    # As many err as the risks say: 1.5 points is what three suites leave to chance.
    assert np.mean(risks) == pytest.approx(np.mean(np.asarray(errors) > 0.25), abs=0.03)


def test_values_of_an_application_that_is_noisier_than_the_suite_are_covered() -> None:
    covered = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        matrix, application, times = split_suite(make_logs(16, 15, seed, own=0.01, spread=0.15), 4, 7)
        measured = times * np.exp(random.normal(0, 0.1, 16))
        noisy = replace(application, seconds=measured[:7], noise=np.full(7, 0.1))
        quiet = replace(matrix, noise=np.full(matrix.seconds.shape, 0.003))
        for item, value in zip(predict_platforms(quiet, noisy).predictions, measured[7:], strict=True):
            covered.append(item.low <= value <= item.high)
    assert np.mean(covered) == pytest.approx(0.92, abs=0.06)


@pytest.mark.parametrize("own", [0.0, 0.06], ids=["like the suite", "less regular than the suite"])
def test_expected_errors_are_the_real_ones_on_machines_that_are_not_refused(own: float) -> None:
    ratios, suites = [], []
    for seed in range(24):
        logs = make_logs(20, 16, 100 + seed, own=0.02, spread=0.12)
        logs[:, 3] += np.random.default_rng(seed).normal(0, own, 20)
        matrix, application, times = split_suite(logs, 3, 7)
        truth = dict(zip(matrix.machines, times, strict=True))
        found = predict_platforms(matrix, application)
        if len(found.kept) > 1:
            error = np.median([abs(item.seconds / truth[item.machine] - 1) for item in found.kept])
            ratios.append(error / found.expected_error)
            suites.append(error / found.suite_error)
    assert len(ratios) > 15
    # The median of some twenty ratios, each of few machines, is known to about a fifth.
    assert 0.75 < np.median(ratios) < 1.35
    # The suite's own error is that of an application like the suite, and only of such.
    assert (np.median(suites) > 1.5) == (own > 0)
