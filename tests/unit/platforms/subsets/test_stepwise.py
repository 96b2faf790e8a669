"""Predictors one by one, forward and backward."""

import numpy as np
import pytest

from datamill.experiment.errors import InputError
from datamill.platforms.subsets.best_subsets import best_by_criterion
from datamill.platforms.subsets.criteria import find_adjusted_r2
from datamill.platforms.subsets.stepwise import select_predictors


def make_data(rows, columns, seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(rows, columns))
    return table, 5 * table[:, 1] - 3 * table[:, 3] + 0.1 * rng.normal(size=rows)


def fit(table, response, members):
    design = np.column_stack([np.ones(len(response)), table[:, members]])
    residual = response - design @ np.linalg.lstsq(design, response, rcond=None)[0]
    return residual @ residual


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("criterion", ["adjusted-r2", "cp"])
def test_the_predictors_that_matter_are_selected(criterion, direction):
    table, response = make_data(30, 6, 1)
    found = select_predictors(table, response, criterion, direction)
    assert {1, 3} <= set(found.members)
    assert found.rss == pytest.approx(fit(table, response, list(found.members)))


def test_forward_takes_the_best_first_and_stops_when_nothing_improves():
    table, response = make_data(30, 6, 2)
    found = select_predictors(table, response, "adjusted-r2", "forward")
    assert found.path[:2] == (1, 3)
    total = np.array(((response - response.mean()) ** 2).sum())
    rest = [column for column in range(6) if column not in found.members]
    for column in rest:
        rss = fit(table, response, [*found.members, column])
        size = np.array(len(found.members) + 1)
        assert find_adjusted_r2(np.array(rss), total, np.array(30), size) <= found.value


def test_backward_removes_until_the_next_would_degrade_the_model():
    table, response = make_data(30, 6, 3)
    found = select_predictors(table, response, "cp", "backward", variance=0.01)
    assert sorted((*found.members, *found.path)) == list(range(6))
    for column in found.members:
        rest = [other for other in found.members if other != column]
        assert fit(table, response, rest) / 0.01 + 2 * len(rest) > found.rss / 0.01 + 2 * len(found.members)


def test_the_limit_on_predictors_is_kept():
    table, response = make_data(30, 6, 4)
    assert select_predictors(table, response, "cp", "forward", largest=1).members == (1,)
    assert len(select_predictors(table, response, "adjusted-r2", "backward", largest=1).members) <= 1


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_more_predictors_than_rows_leave_a_degree_of_freedom(direction):
    rng = np.random.default_rng(5)
    table, response = rng.normal(size=(8, 20)), rng.normal(size=8)
    found = select_predictors(table, response, "adjusted-r2", direction)
    assert len(found.members) <= 6
    assert found.value <= best_by_criterion(table, response).value[0] + 1e-12


def test_copies_and_constants_are_never_added():
    table, response = make_data(12, 5, 6)
    table = np.column_stack([table, table[:, 1], np.full(12, 4.0)])
    found = select_predictors(table, response, "adjusted-r2", "forward")
    assert not {5, 6} & set(found.members)


def test_what_cannot_be_fitted_is_refused():
    with pytest.raises(InputError, match="too few"):
        select_predictors(np.ones((2, 1)), np.ones(2), "cp", "forward")
    with pytest.raises(InputError, match="finite"):
        select_predictors(np.full((4, 1), np.nan), np.ones(4), "cp", "forward")
    with pytest.raises(InputError, match="do not fit"):
        select_predictors(np.ones((4, 1)), np.ones(3), "cp", "forward")
