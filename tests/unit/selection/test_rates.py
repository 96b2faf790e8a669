from __future__ import annotations

import random

import pytest
from scipy.stats import binomtest, mannwhitneyu

from datamill.selection.evaluation.rates import bound_rate, find_hit_rate, measure_area, trace_curve


@pytest.mark.parametrize(("count", "n"), [(0, 7), (3, 7), (7, 7), (85, 100)])
def test_intervals_of_rates_are_the_exact_ones(count, n):
    rate = bound_rate(count, n)
    expected = binomtest(count, n).proportion_ci(method="exact")
    assert (rate.interval.low, rate.interval.high) == pytest.approx((expected.low, expected.high))


def test_a_rate_of_nothing_has_no_value():
    assert bound_rate(0, 0).value is None


def test_the_area_is_that_of_the_rank_test_with_ties_counted_half():
    draw = random.Random(1)
    scores = [draw.randrange(10) for _ in range(80)]
    changed = [draw.random() < 0.05 * (score + 1) for score in scores]
    area = measure_area(scores, changed)
    high = [score for score, label in zip(scores, changed, strict=True) if label]
    low = [score for score, label in zip(scores, changed, strict=True) if not label]
    assert area.estimate == pytest.approx(mannwhitneyu(high, low).statistic / (len(high) * len(low)))


def test_the_interval_of_the_area_holds_the_true_one_about_as_often_as_it_says():
    draw = random.Random(2)
    held = 0
    for _ in range(400):
        scores = [draw.gauss(1, 1) for _ in range(25)] + [draw.gauss(0, 1) for _ in range(60)]
        area = measure_area(scores, [True] * 25 + [False] * 60)
        held += area.interval.low <= 0.7602499 <= area.interval.high
    assert 0.915 <= held / 400 <= 0.98


def test_an_area_without_a_variance_has_no_interval():
    assert measure_area([1, 2, 3, 4], [False, False, True, True]).interval is None
    assert measure_area([1, 2], [True, True]) is None


def test_the_curve_begins_with_nothing_and_ends_with_all():
    points = trace_curve([0.9, 0.8, 0.8, 0.1], [True, False, True, False])
    assert [(point.hit.value, point.dismiss.value) for point in points] == [
        (0.0, 1.0),
        (0.5, 1.0),
        (1.0, 0.5),
        (1.0, 0.0),
    ]
    assert find_hit_rate(points, 0.5).hit.value == 1.0
    assert find_hit_rate(points, 0.8).hit.value == 0.5
