"""What the search of subsets refuses, and what it says of data that have no answer."""

import numpy as np
import pytest

from datamill.experiment.errors import InputError
from datamill.platforms.subsets.best_subsets import best_by_criterion, best_of_each_column, best_subsets

RNG = np.random.default_rng(1)
TABLE, RESPONSE = RNG.normal(size=(8, 4)), RNG.normal(size=8)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((TABLE[:, 0], RESPONSE), "not rows × predictors"),
        ((np.ones((3, 64)), np.ones(3)), "1 to 63"),
        ((TABLE, RESPONSE[:5]), "do not fit 8 rows"),
        ((np.where(TABLE > 1, np.nan, TABLE), RESPONSE), "finite"),
        ((TABLE, np.full(8, np.inf)), "finite"),
        ((TABLE, RESPONSE, [np.array([0, 8])]), "not from 0 to 7"),
        ((TABLE, RESPONSE, [np.array([-1, 2])]), "not from 0 to 7"),
        ((TABLE, RESPONSE, None, 0), "not at least 1"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        best_subsets(*arguments)


def test_one_variance_is_needed_for_each_set():
    with pytest.raises(InputError, match="2 variances for 1 sets"):
        best_by_criterion(TABLE, RESPONSE, None, "cp", None, np.ones(2))


def test_sizes_beyond_the_predictors_have_no_subset():
    found = best_subsets(TABLE, RESPONSE, largest=6)
    assert found.members.shape == (1, 6, 6)
    assert np.isnan(found.rss[0, 4:]).all()
    assert (found.members[0, 4:] == -1).all()


def test_a_constant_response_needs_no_predictor():
    found = best_by_criterion(TABLE, np.full(8, 3.0))
    assert found.size.tolist() == [0]
    assert np.isnan(found.value).all()
    assert (best_subsets(TABLE, np.full(8, 3.0)).rss == 0).all()


def test_a_constant_column_is_no_response():
    table = np.column_stack([TABLE, np.full(8, 2.5)])
    found = best_of_each_column(table).by_cp
    assert np.isnan(found.rss[4])
    assert not (found.members == 4).any()


def test_two_rows_leave_no_degree_of_freedom_for_a_predictor():
    found = best_by_criterion(TABLE, RESPONSE, [np.array([0, 1]), np.array([0, 1, 2])])
    assert found.size[0] == 0
    assert found.size[1] <= 1


def test_no_set_of_rows_gives_no_subset():
    assert best_subsets(TABLE, RESPONSE, [], largest=2).rss.shape == (0, 2)


def test_a_search_that_would_not_end_is_refused_with_a_size_that_can_be_searched():
    table, response = RNG.normal(size=(40, 63)), RNG.normal(size=40)
    with pytest.raises(InputError, match=r"63 predictors have .* subsets of up to 38") as refused:
        best_subsets(table, response)
    assert "Limit it to 11" in str(refused.value.remedy)
    with pytest.raises(InputError, match=r"more than the 1e\+12"):
        best_by_criterion(table, response)
    with pytest.raises(InputError, match="can be searched"):
        best_of_each_column(table)
    assert best_subsets(table, response, largest=2).rss.shape == (1, 2)
