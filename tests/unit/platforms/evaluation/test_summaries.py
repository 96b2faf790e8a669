"""What is said of many errors: intervals, thresholds, the worst decile, by small examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made.suites import make_suite
from scipy import stats

from datamill.platforms.evaluation.application_intervals import (
    bound_mean,
    bound_mean_of_models,
    bound_quantiles,
)
from datamill.platforms.evaluation.evaluate_part import PartErrors
from datamill.platforms.evaluation.evaluation_plan import EvaluationPart, EvaluationPlan, Variant
from datamill.platforms.evaluation.example_models import fit_examples
from datamill.platforms.evaluation.size_errors import JoinedErrors, join_errors, summarize_size
from datamill.platforms.evaluation.thresholds import apply_thresholds
from datamill.platforms.evaluation.worst_models import find_worst

CLOCK = Variant("clock")


def join(nrmse: list[float], applications: list[int], adjusted: list[float] | None = None) -> JoinedErrors:
    count = len(nrmse)
    return JoinedErrors(
        nrmse=np.array(nrmse),
        adjusted_r2=np.array(adjusted or [0.5] * count),
        predictors=np.ones(count, dtype=np.int64),
        applications=np.array(applications),
        places=np.zeros(count, dtype=np.int64),
        relative=np.tile(np.float32([0.1, -0.2]), (count, 1)),
        unanswered=0,
    )


def make_plan(machines: int = 4, applications: int = 3) -> EvaluationPlan:
    names = tuple(f"b{place}" for place in range(applications))
    return EvaluationPlan(tuple(f"m{place}" for place in range(machines)), names, names, (CLOCK,), (2,), 0, 1)


def test_the_mean_by_applications_is_students_interval_of_their_means() -> None:
    values, groups = np.array([1.0, 3, 2, 6, 10, 8]), np.array([0, 0, 1, 1, 2, 2])
    found = bound_mean(values, groups, 0.95)
    expected = stats.t.interval(0.95, 2, loc=5, scale=stats.sem([2, 4, 9]))
    assert (found.estimate, found.high) == pytest.approx((5, expected[1]))
    assert found.low == 0.0 > expected[0]


def test_the_mean_of_models_is_students_interval_of_all() -> None:
    values = np.array([1.0, 3, 2, 6, 10, 8])
    found = bound_mean_of_models(values, 0.9)
    assert (found.low, found.high) == pytest.approx(stats.t.interval(0.9, 5, loc=5, scale=stats.sem(values)))


def test_one_application_has_no_interval() -> None:
    values, groups = np.array([1.0, 2, 3]), np.zeros(3, dtype=np.int64)
    assert math.isnan(bound_mean(values, groups, 0.95).low)
    assert math.isnan(bound_quantiles(values, groups, (0.5,), 0.95)[0].high)


def test_the_interval_by_applications_holds_where_that_by_models_fails() -> None:
    draw = np.random.default_rng(3)
    groups = np.repeat(np.arange(20), 40)
    held = {"applications": 0, "models": 0, "median": 0}
    for _ in range(300):
        values = 10 + np.repeat(draw.normal(size=20), 40) + draw.normal(size=800)
        by_application = bound_mean(values, groups, 0.95)
        by_model = bound_mean_of_models(values, 0.95)
        held["applications"] += by_application.low <= 10 <= by_application.high
        held["models"] += by_model.low <= 10 <= by_model.high
        (median,) = bound_quantiles(values, groups, (0.5,), 0.95)
        held["median"] += median.low <= 10 <= median.high
    assert 0.92 <= held["applications"] / 300 <= 0.98
    assert 0.92 <= held["median"] / 300 <= 0.98
    assert held["models"] / 300 < 0.6


def test_quantiles_are_those_of_all_models() -> None:
    values = np.random.default_rng(1).exponential(size=900)
    found = bound_quantiles(values, np.repeat(np.arange(9), 100), (0.5, 0.95), 0.95)
    assert [item.estimate for item in found] == pytest.approx(np.quantile(values, [0.5, 0.95]).tolist())
    assert all(item.low < item.estimate < item.high for item in found)


def test_a_quantile_has_no_upper_end_where_few_applications_reach_it() -> None:
    values = np.concatenate([np.full(90, 1.0), [5.0] * 10])
    (found,) = bound_quantiles(values, np.repeat(np.arange(10), 10), (0.95,), 0.95)
    assert (found.estimate, found.low, found.high) == (5.0, 1.0, math.inf)


def test_parts_are_joined_in_the_order_of_their_sets_and_silent_models_left_out() -> None:
    variants = (CLOCK, Variant("clusters"))

    def make(start: int, values: list[list[float]]) -> PartErrors:
        nrmse = np.array([[[9.0] * len(values[0])] * len(values), values])
        relative = np.repeat(nrmse[..., None], 2, axis=3).astype(np.float32)
        part = EvaluationPart(variants, 2, start, start + len(values[0]))
        return PartErrors(part, nrmse, nrmse / 10, np.ones(nrmse.shape, dtype=np.int16), relative)

    late, early = make(2, [[0.3], [math.nan]]), make(0, [[0.1, 0.2], [0.4, 0.5]])
    joined = join_errors([late, early], variants[1])
    assert joined.nrmse.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert joined.applications.tolist() == [0, 0, 0, 1, 1]
    assert joined.places.tolist() == [0, 1, 2, 0, 1]
    assert joined.unanswered == 1


def test_a_size_has_its_worst_model_and_its_errors_by_target() -> None:
    found = summarize_size(CLOCK, 2, join([0.1, 0.2, 0.6], [0, 1, 2]), 0.95)
    assert found is not None
    assert (found.worst, found.median.estimate, found.models) == (0.6, 0.2, 3)
    assert found.target_errors == pytest.approx((0.15, 0.2, 0.2, 0.2))
    assert found.absurd == 0.0


def test_a_size_without_any_prediction_has_no_summary() -> None:
    nothing = join([0.1], [0])
    empty = JoinedErrors(*(getattr(nothing, name)[:0] for name in list(JoinedErrors.__slots__)[:6]), 3)
    assert summarize_size(CLOCK, 2, empty, 0.95) is None


def test_a_threshold_leaves_models_that_fit_at_least_as_well() -> None:
    fits = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, math.nan]
    errors = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 5.0]
    curve = apply_thresholds(CLOCK, 2, join(errors, [0, 1] * 5, fits), 0.95)
    assert curve.undefined == 1
    first, last = curve.thresholds[0], curve.thresholds[-1]
    # What has no adjusted R² is discarded by every threshold.
    assert (first.adjusted_r2, first.models, first.share.estimate, first.worst) == (0.1, 9, 0.9, 0.9)
    assert (last.adjusted_r2, last.models, last.worst) == (0.9, 1, 0.1)
    middle = next(item for item in curve.thresholds if item.adjusted_r2 == 0.5)
    assert (middle.models, middle.worst) == (5, 0.5)
    assert middle.percentile_95.estimate == pytest.approx(np.quantile([0.1, 0.2, 0.3, 0.4, 0.5], 0.95))


def test_the_worst_decile_counts_models_by_target_and_application() -> None:
    errors = [0.01 * place for place in range(20)]
    errors[5], errors[12] = 3.0, 2.0
    joined = join(errors, [place % 3 for place in range(20)])
    # Models 5 and 12, of applications 2 and 0, from the first of all sets: machines 0 and 1 are trained on.
    worst = find_worst(make_plan(), CLOCK, 2, joined)
    assert (worst.models, worst.targets, worst.low, worst.high) == (2, 2, 2.0, 3.0)
    assert worst.machines == (("m2", 2), ("m3", 2))
    assert worst.applications == (("b0", 1), ("b2", 1))
    assert worst.blamed == ("b0",)
    assert worst.worst_of_others == 3.0


def test_small_models_are_those_of_numpy() -> None:
    pool = make_suite()
    found = fit_examples(pool, "b3", "m5")
    assert [model.predictor for model in found.models[:2]] == [
        "processor clock (MHz)",
        "suite geometric mean",
    ]
    trained = [row for row in range(8) if row != 5]
    for model in found.models:
        slope, intercept = np.polyfit(model.values[trained], found.seconds[trained], 1)
        assert (model.slope, model.intercept) == pytest.approx((slope, intercept))
        missed = intercept + slope * model.values - found.seconds
        assert model.residual_rmse == pytest.approx(np.sqrt((missed[trained] ** 2).mean()))
        assert model.prediction_rmse == pytest.approx(abs(missed[5]))
