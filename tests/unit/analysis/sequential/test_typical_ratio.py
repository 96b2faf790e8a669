"""Typical ratios: found whatever the tails are, silent where packages are alike."""

import math
from itertools import product

import numpy as np
import pytest

from datamill.analysis.sequential.intervals import excludes_zero
from datamill.analysis.sequential.typical_ratio import (
    bound_typical_ratio,
    bound_value_range,
    measure_evidence,
    tell_typical_apart,
    widen_by_steps,
)


def draw_heavy(rounds: int, seed: int) -> np.ndarray:
    """Times with infinite variance."""
    return 1 + 0.05 * np.random.default_rng(seed).pareto(1.3, rounds)


def test_what_is_owned_in_the_mean_stays_what_it_was_where_signs_are_chance() -> None:
    sizes = np.array([0.3, 0.1, 0.4, 0.2, 0.5])
    owned = [
        math.exp(measure_last(np.array(signs) * sizes)) for signs in product((-1.0, 1.0), repeat=len(sizes))
    ]
    assert np.mean(owned) == pytest.approx(1.0)


def measure_last(logs: np.ndarray) -> float:
    """What is owned after the last bet, by the definition: half on each side, five stakes each."""
    total = 0.0
    for side in (1.0, -1.0):
        for stake in (0.15, 0.3, 0.5, 0.7, 0.9):
            owned = 1.0
            for index, value in enumerate(logs):
                rank = sum(abs(item) <= abs(value) for item in logs[: index + 1]) / (index + 1)
                owned *= 1 + side * stake * rank * math.copysign(1, value)
            total += owned / 10
    return math.log(total)


def test_the_most_ever_owned_is_what_counts() -> None:
    logs = np.array([0.1, 0.2, 0.3, -0.4, -0.5, -0.6, -0.7])
    expected = max(measure_last(logs[:n]) for n in range(1, len(logs) + 1))
    assert measure_evidence(logs, 0.0) == pytest.approx(expected)


def test_a_difference_is_found_that_heavy_tails_hide_from_means() -> None:
    first, second = draw_heavy(60, 1), 1.1 * draw_heavy(60, 2)
    interval = bound_typical_ratio(first, second, "b against a", 0.05)
    assert interval.of == "typical"
    assert 0 < interval.low < 0.1 < interval.high < 0.3
    assert tell_typical_apart(first, second, 0.05)


def test_units_and_exchanged_packages_change_nothing() -> None:
    first, second = draw_heavy(40, 3), 1.2 * draw_heavy(40, 4)
    there = bound_typical_ratio(first, second, "b against a", 0.05)
    scaled = bound_typical_ratio(1e9 * first, 1e9 * second, "b against a", 0.05)
    back = bound_typical_ratio(second, first, "a against b", 0.05)
    assert scaled.low == pytest.approx(there.low)
    assert 1 + back.high == pytest.approx(1 / (1 + there.low), rel=1e-3)


def test_equal_values_and_values_that_are_not_positive_say_nothing() -> None:
    same = np.full(30, 2.0)
    assert not tell_typical_apart(same, same, 0.05)
    assert bound_typical_ratio(same, np.zeros(30), "b against a", 0.05).low is None


def test_values_that_do_not_overlap_are_told_apart_as_soon_as_chance_hardly_makes_such() -> None:
    first, second = 1 + 0.1 * np.arange(8) / 8, 2 + 0.1 * np.arange(8) / 8
    assert bound_value_range(first[:7], second[:7], "b against a", 0.025) is None
    interval = bound_value_range(first, second, "b against a", 0.025)
    assert interval is not None
    assert 0.8 < interval.low < interval.estimate < interval.high < 1.2
    alike = bound_value_range(first, first[::-1], "b against a", 0.025)
    assert alike is not None
    assert not excludes_zero(alike)


def test_the_bounds_are_where_the_evidence_reaches_its_limit() -> None:
    first, second = draw_heavy(50, 5), draw_heavy(50, 6)
    interval = bound_typical_ratio(first, second, "b against a", 0.05)
    for bound, inward in ((interval.low, 1e-3), (interval.high, -1e-3)):
        logs = np.log(second / first)
        assert measure_evidence(logs, math.log1p(bound)) >= math.log(20)
        assert measure_evidence(logs, math.log1p(bound) + inward) < math.log(20)


def test_steps_wider_than_the_values_do_not_make_an_interval_begin_below_zero() -> None:
    baseline = np.full(40, 2.0)
    interval = bound_typical_ratio(baseline, np.where(np.arange(40) % 2, 1.0, 1.1), "b against a", 0.05)
    wide = widen_by_steps(interval, baseline, (2.0, 2.0))
    assert wide.low == -1.0
    assert wide.high > interval.high
    narrow = widen_by_steps(interval, baseline, (0.01, 0.01))
    assert -1.0 < narrow.low < interval.low
