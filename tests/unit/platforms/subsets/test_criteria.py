"""Adjusted R², Cp, and the variance that Cp divides by."""

import numpy as np
import pytest

from datamill.platforms.subsets.best_subsets import best_subsets
from datamill.platforms.subsets.criteria import (
    find_adjusted_r2,
    find_cp,
    find_largest_variances,
    find_variances,
)


def test_adjusted_r2_divides_each_sum_by_its_own_degrees_of_freedom():
    found = find_adjusted_r2(np.array([10.0, 10.0]), np.array(100.0), np.array(11), np.array([0, 5]))
    assert found.tolist() == pytest.approx([1 - (10 / 10) / (100 / 10), 1 - (10 / 5) / (100 / 10)])


def test_adjusted_r2_needs_a_degree_of_freedom_and_a_response_that_varies():
    found = find_adjusted_r2(np.array([0.0, 0.0]), np.array([5.0, 0.0]), np.array(4), np.array([3, 1]))
    assert np.isnan(found).all()


def test_cp_of_the_full_model_is_its_number_of_coefficients():
    rng = np.random.default_rng(1)
    table, response = rng.normal(size=(20, 4)), rng.normal(size=20)
    variance = find_variances(table, response)
    best = best_subsets(table, response)
    assert find_cp(best.rss[:, 3], variance, np.array(20), np.array(4)) == pytest.approx(5)
    assert np.isnan(find_cp(best.rss[0], np.array(0.0), np.array(20), np.arange(1, 5))).all()


def test_a_copy_of_a_predictor_does_not_change_the_variance_of_the_full_model():
    rng = np.random.default_rng(2)
    table, response = rng.normal(size=(12, 3)), rng.normal(size=12)
    doubled = np.column_stack([table, 5 * table[:, 0] - 2])
    assert find_variances(doubled, response) == pytest.approx(find_variances(table, response))


def test_with_more_predictors_than_rows_the_variance_is_near_the_error_that_was_put_in():
    """A shrunken model finds it within a factor of three; the best of all models is far below it."""
    rng = np.random.default_rng(3)
    shrunken, best = [], []
    for _ in range(100):
        shared = rng.normal(size=(14, 1))
        table = shared + 0.3 * rng.normal(size=(14, 20))
        response = shared[:, 0] + rng.normal(0, 0.5, 14)
        shrunken.append(find_variances(table, response)[0])
        found = best_subsets(table, response, largest=5)
        best.append(find_largest_variances(found.rss, found.rows, 8)[0])
    assert 0.25 / 3 < np.median(shrunken) < 0.25 * 3
    assert np.median(best) < np.median(shrunken) / 2


def test_units_scale_the_variance_and_nothing_else_does():
    rng = np.random.default_rng(4)
    table, response = rng.normal(size=(8, 12)), rng.normal(size=8)
    plain = find_variances(table, response)
    other = find_variances(table * 10.0 ** rng.integers(-5, 6, 12) + 3, 1e3 * response - 7)
    assert other == pytest.approx(1e6 * plain)


def test_sets_of_rows_and_responses_are_each_what_one_gives():
    rng = np.random.default_rng(5)
    table, responses = rng.normal(size=(9, 4)), rng.normal(size=(9, 3))
    sets = [np.arange(9), np.array([0, 2, 4, 6]), np.array([1, 3, 5, 8])]
    together = find_variances(table, responses, sets)
    for place, rows in enumerate(sets):
        for column in range(3):
            alone = find_variances(table[rows], responses[rows, column])
            assert together[place, column] == pytest.approx(alone[0])
