"""Quantile regression on any matrix: what no change of unit, order of rows or basis may alter."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from datamill import _native

QUANTILES = np.array([0.02, 0.25, 0.5, 0.9])


class Problem(NamedTuple):
    by_cell: NDArray[np.float64]
    cell_of_row: NDArray[np.uint32]
    products: NDArray[np.float64]
    of_product: NDArray[np.int64]
    values: NDArray[np.float64]


class Fit(NamedTuple):
    coefficients: NDArray[np.float64]
    objective: NDArray[np.float64]
    certified: NDArray[np.bool_]
    not_unique: NDArray[np.bool_]
    iterations: NDArray[np.int64]


def fit(problem: Problem, weights: NDArray[np.float64] | None = None) -> Fit:
    result = Fit(*_native.fit_general(*problem, QUANTILES, weights))
    assert result.certified.all()
    return result


@st.composite
def make_problem(draw: st.DrawFn, *, largest: int = 6000) -> Problem:
    """2 × 3 cells with a covariate in bytes, in some of them an interaction, heavy tails, some ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = int(rng.integers(40, largest))
    a, b = np.array([-1.0, -1, -1, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
    by_cell = np.stack([np.ones(6), a, b == 1, b == 2, np.ones(6), a], axis=1)
    cells = rng.integers(0, 6, n).astype(np.uint32)
    cells[:12] = np.arange(12) % 6
    size = rng.exponential(1.0, n)
    values = 100 + cells + size * rng.random(n) + rng.pareto(1.5, n)
    if draw(st.booleans()):
        values = np.round(values, 1)
    return Problem(by_cell, cells, (1e9 * size)[None], np.array([-1, -1, -1, -1, 0, 0]), values)


def write_out(problem: Problem) -> NDArray[np.float64]:
    matrix = problem.by_cell[problem.cell_of_row]
    for column, product in enumerate(problem.of_product):
        if product >= 0:
            matrix[:, column] *= problem.products[product]
    return matrix


def as_dense(matrix: NDArray[np.float64], values: NDArray[np.float64]) -> Problem:
    rows, columns = matrix.shape
    return Problem(
        np.ascontiguousarray(matrix),
        np.arange(rows, dtype=np.uint32),
        np.zeros((0, rows)),
        np.full(columns, -1, dtype=np.int64),
        values,
    )


def take_rows(problem: Problem, rows: NDArray[np.int64]) -> Problem:
    return problem._replace(
        cell_of_row=problem.cell_of_row[rows],
        products=np.ascontiguousarray(problem.products[:, rows]),
        values=problem.values[rows],
    )


def assert_same_fit(
    problem: Problem,
    one: Fit,
    other: Fit,
    coefficients: NDArray[np.float64] | None = None,
    scale: float = 1.0,
    shift: float = 0.0,
) -> None:
    """The same fitted values wherever the solution is the only one, and the same objective everywhere."""
    expected = one.objective * scale
    spread = scale * float(np.ptp(problem.values))
    assert other.objective == pytest.approx(expected, rel=1e-8)
    matrix = write_out(problem)
    for t in np.flatnonzero(~one.not_unique & ~other.not_unique):
        given = (other.coefficients if coefficients is None else coefficients)[t]
        wanted = scale * (matrix @ one.coefficients[t]) + shift
        assert np.max(np.abs(matrix @ given - wanted)) <= 1e-8 * (spread + 1e-7 * abs(shift))


@settings(max_examples=40, deadline=None)
@given(make_problem(), st.sampled_from([1e-9, 2.0**-40, 3.0, 1e9]))
def test_another_unit_of_the_response_scales_every_coefficient(problem: Problem, scale: float) -> None:
    before, after = fit(problem), fit(problem._replace(values=problem.values * scale))
    assert_same_fit(problem, before, after, scale=scale)


@settings(max_examples=40, deadline=None)
@given(make_problem(), st.integers(-80, 80))
def test_a_power_of_two_scales_every_bit(problem: Problem, power: int) -> None:
    before, after = fit(problem), fit(problem._replace(values=problem.values * 2.0**power))
    assert np.array_equal(after.coefficients, before.coefficients * 2.0**power)


@settings(max_examples=40, deadline=None)
@given(make_problem(), st.sampled_from([-1024.0, 65536.0, 2.0**30]))
def test_another_zero_point_moves_the_constant_alone(problem: Problem, shift: float) -> None:
    # On a grid that the shift does not disturb, so that both problems are the same to the last bit.
    problem = problem._replace(values=np.round(problem.values * 1024) / 1024)
    before, after = fit(problem), fit(problem._replace(values=problem.values + shift))
    assert np.array_equal(after.coefficients[:, 1:], before.coefficients[:, 1:])
    assert after.coefficients[:, 0] - shift == pytest.approx(before.coefficients[:, 0], abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(make_problem(), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_changes_nothing(problem: Problem, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(problem.values.size)
    assert_same_fit(problem, fit(problem), fit(take_rows(problem, order)))


@settings(max_examples=40, deadline=None)
@given(make_problem(largest=1500), st.integers(0, 2**32 - 1))
def test_rows_repeated_and_rows_weighted_have_the_same_fit(problem: Problem, seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 4, problem.values.size)
    counts[:12] += 1
    rows = np.repeat(np.arange(problem.values.size), counts)
    repeated = fit(take_rows(problem, rows))
    assert_same_fit(problem, repeated, fit(problem, counts.astype(float)))


@settings(max_examples=30, deadline=None)
@given(make_problem(largest=1500), st.integers(0, 2**32 - 1))
def test_another_basis_of_the_columns_has_the_same_fitted_values(problem: Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = write_out(problem)
    size = np.max(np.abs(matrix), axis=0)
    change = (np.eye(6) + 0.5 * rng.uniform(-1, 1, (6, 6))) / size[:, None]
    other = fit(as_dense(matrix @ change, problem.values))
    assert_same_fit(problem, fit(problem), other, coefficients=other.coefficients @ change.T)


@settings(max_examples=30, deadline=None)
@given(make_problem(largest=1500), st.floats(-50, 50))
def test_a_slope_added_to_the_response_is_added_to_its_coefficient(problem: Problem, slope: float) -> None:
    moved = problem.values + slope * problem.products[0] * 1e-9
    before, after = fit(problem), fit(problem._replace(values=moved))
    after.coefficients[:, 4] -= slope * 1e-9
    unique = ~before.not_unique & ~after.not_unique
    difference = write_out(problem) @ (after.coefficients - before.coefficients)[unique].T
    assert np.all(np.abs(difference) <= 1e-8 * np.ptp(problem.values) + 1e-9 * abs(slope))
    assert after.objective == pytest.approx(before.objective, rel=1e-8)


@settings(max_examples=20, deadline=None)
@given(make_problem(largest=3000), st.integers(0, 2**64 - 1))
def test_a_replicate_depends_on_the_seed_and_its_number_alone(problem: Problem, seed: int) -> None:
    few = _native.bootstrap_general(*problem, QUANTILES, None, "rows", 3, seed)
    more = _native.bootstrap_general(*problem, QUANTILES, None, "rows", 5, seed)
    assert few.shape == (3, QUANTILES.size, 6)
    assert np.array_equal(few, more[:3], equal_nan=True)
    assert not np.array_equal(more[3], more[4], equal_nan=True)


@settings(max_examples=30, deadline=None)
@given(make_problem(largest=1500), st.integers(0, 2**32 - 1))
def test_cross_products_and_fitted_values_are_those_of_the_written_out_matrix(
    problem: Problem, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    matrix, weights = write_out(problem), rng.normal(size=problem.values.size)
    found = _native.weighted_cross_products(*problem[:4], weights)
    length = np.sqrt(np.sum(matrix**2, axis=0) * np.max(np.abs(weights)))
    expected = matrix.T @ (weights[:, None] * matrix)
    assert np.all(np.abs(found - expected) <= 1e-12 * length[:, None] * length[None])
    coefficients = rng.normal(size=(3, 6)) / np.max(np.abs(matrix), axis=0)
    fitted = _native.fitted_general(*problem[:4], coefficients)
    assert np.max(np.abs(fitted - coefficients @ matrix.T)) <= 1e-12 * 6


@settings(max_examples=30, deadline=None)
@given(make_problem(largest=400))
def test_limits_from_rank_tests_enclose_the_estimate_and_widen_with_the_cut_off(problem: Problem) -> None:
    estimate = fit(problem).coefficients
    low, high = _native.invert_rank_tests(*problem, QUANTILES, 1.5)
    lower, higher = _native.invert_rank_tests(*problem, QUANTILES, 2.5)
    slack = 1e-9 * np.abs(estimate) + 1e-12
    assert np.all(low <= estimate + slack)
    assert np.all(high >= estimate - slack)
    assert np.all(lower <= low + slack)
    assert np.all(higher >= high - slack)


def test_columns_that_are_combinations_of_others_are_named() -> None:
    rng = np.random.default_rng(0)
    x = rng.random(100)
    matrix = np.stack([np.ones(100), x, 3 * x - 2, rng.random(100)], axis=1)
    with pytest.raises(_native.DependentColumnsError, match="column 2 is a combination") as caught:
        fit(as_dense(matrix, rng.random(100)))
    assert caught.value.columns == [(2, [0, 1])]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": np.array([1.0, np.nan, 2.0])}, "not a finite number"),
        ({"values": np.ones(2)}, "3 rows"),
        ({"by_cell": np.ones((3, 2))}, "of_product has 1 entries"),
        ({"cell_of_row": np.array([0, 1, 3], dtype=np.uint32)}, "not below 3"),
        ({"of_product": np.array([0])}, "names product 0"),
        ({"by_cell": np.asfortranarray(np.ones((3, 2))), "of_product": np.array([-1, -1])}, "row by row"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change: dict[str, NDArray[np.float64]], message: str) -> None:
    problem = as_dense(np.arange(3.0)[:, None] + 1, np.arange(3.0))._replace(**change)
    with pytest.raises(ValueError, match=message):
        fit(problem)
