"""What holds of chosen design points, whatever the factors."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamill.design.points.aliases import find_aliases
from datamill.design.points.covering import build_covering_array
from datamill.design.points.d_optimal import code_contrasts, find_optimal_design, rate_design
from datamill.design.points.fractional import find_fraction
from datamill.design.points.plackett_burman import (
    build_folded_plackett_burman,
    build_hadamard,
    build_plackett_burman,
    find_order,
)
from datamill.experiment.errors import InputError

QUICK = settings(max_examples=40, deadline=None)


def find_uncovered(
    rows: Sequence[tuple[int, ...]], sizes: Sequence[int], strength: int
) -> tuple[tuple[tuple[int, int], ...], ...]:
    """The combinations of levels, as pairs of factor and level, of `strength` factors in no row."""
    missing = []
    for factors in itertools.combinations(range(len(sizes)), min(strength, len(sizes))):
        seen = {tuple(row[factor] for factor in factors) for row in rows}
        for levels in itertools.product(*(range(sizes[factor]) for factor in factors)):
            if levels not in seen:
                missing.append(tuple(zip(factors, levels, strict=True)))
    return tuple(missing)


@pytest.mark.parametrize("order", range(4, 101, 4))
def test_columns_of_each_matrix_are_orthogonal_and_one_order_alone_has_no_construction(order: int) -> None:
    matrix = build_hadamard(order)
    if order == 92:
        assert matrix is None
        assert find_order(92) == 96
        return
    assert matrix is not None
    assert np.array_equal(np.abs(matrix), np.ones((order, order)))
    assert np.array_equal(matrix.T @ matrix, order * np.eye(order))
    assert np.all(matrix[:, 0] == 1)


@QUICK
@given(st.integers(1, 99))
def test_plackett_burman_designs_are_balanced_and_orthogonal(factors: int) -> None:
    signs = build_plackett_burman(factors)
    points = len(signs)
    assert factors < points <= max(8, factors + 8)
    assert np.all(signs.sum(axis=0) == 0)
    assert np.array_equal(signs.T @ signs, points * np.eye(factors))


@QUICK
@given(st.integers(2, 40))
def test_folding_over_frees_main_effects_of_all_interactions_of_two(factors: int) -> None:
    signs = build_folded_plackett_burman(factors)
    pairs = [signs[:, a] * signs[:, b] for a, b in itertools.combinations(range(factors), 2)]
    assert not np.any(signs.T @ np.array(pairs).T)


@QUICK
@given(st.integers(2, 11), st.integers(3, 7))
def test_a_fraction_has_the_resolution_that_it_states(factors: int, asked: int) -> None:
    found = find_fraction(factors, asked)
    signs = found.list_signs()
    assert signs.shape == (found.points, factors)
    assert len(np.unique(signs, axis=0)) == found.points

    def is_word(columns: tuple[int, ...]) -> bool:
        return abs(int(np.prod(signs[:, columns], axis=1).sum())) == found.points

    words = [
        sum(is_word(columns) for columns in itertools.combinations(range(factors), length))
        for length in range(1, factors + 1)
    ]
    shortest = next((length for length, count in enumerate(words, start=1) if count), 0)
    assert found.resolution == shortest
    assert shortest == 0 or shortest >= asked
    assert tuple(words[2 : 2 + len(found.words)]) == found.words


@QUICK
@given(st.lists(st.integers(2, 4), min_size=2, max_size=7), st.integers(2, 4), st.integers(0, 1000))
def test_a_covering_array_holds_every_combination_of_its_strength(
    sizes: list[int], strength: int, seed: int
) -> None:
    rows = build_covering_array(tuple(sizes), strength, seed)
    assert find_uncovered(rows, sizes, strength) == ()
    assert len(set(rows)) == len(rows)
    assert all(0 <= level < size for row in rows for level, size in zip(row, sizes, strict=True))
    largest = sorted(sizes)[-min(strength, len(sizes)) :]
    assert math.prod(largest) <= len(rows) <= math.prod(sizes)


def test_what_is_not_covered_is_found() -> None:
    rows = [(0, 0, 0), (0, 1, 1), (1, 0, 1)]
    assert find_uncovered(rows, (2, 2, 2), 2) == (
        ((0, 1), (1, 1)),
        ((0, 1), (2, 0)),
        ((1, 1), (2, 0)),
    )


@QUICK
@given(st.integers(2, 6))
def test_contrasts_of_levels_are_orthogonal_to_each_other_and_the_mean(size: int) -> None:
    contrasts = code_contrasts(size)
    assert np.allclose(contrasts.sum(axis=0), 0)
    assert np.allclose(contrasts.T @ contrasts, size * np.eye(size - 1))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(2, 4), min_size=2, max_size=4), st.integers(1, 2), st.data())
def test_an_optimal_design_keeps_to_its_budget_and_tells_all_parameters(
    sizes: list[int], order: int, data: st.DataObject
) -> None:
    everything = math.prod(sizes)
    parameters = 1 + sum(size - 1 for size in sizes)
    if order == 2:
        parameters += sum((a - 1) * (b - 1) for a, b in itertools.combinations(sizes, 2))
    points = data.draw(st.integers(min(parameters, everything), everything))
    found = find_optimal_design(tuple(sizes), points, order, 1)
    assert len(found.rows) == len(set(found.rows)) == points
    assert found.parameters == parameters
    assert 0 < found.efficiency <= 1 + 1e-9
    assert found.efficiency == pytest.approx(rate_design(found.rows, sizes, order))


@pytest.mark.parametrize(("factors", "points"), [(3, 4), (7, 8), (5, 8), (7, 16)])
def test_an_optimal_design_for_main_effects_is_orthogonal_where_there_is_an_orthogonal_one(
    factors: int, points: int
) -> None:
    found = find_optimal_design((2,) * factors, points, 1, 1)
    assert found.efficiency == pytest.approx(1)


def test_an_optimal_design_beats_drawn_points() -> None:
    sizes = (3, 2, 2, 4)
    found = find_optimal_design(sizes, 12, 1, 1)
    everything = list(itertools.product(*(range(size) for size in sizes)))
    drawn = np.random.default_rng(1)
    rivals = [
        rate_design([everything[at] for at in drawn.choice(len(everything), 12, replace=False)], sizes, 1)
        for _ in range(300)
    ]
    assert found.efficiency > max(rivals)


def test_fewer_points_than_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="7 parameters needs at least 7 points, and max_points allows 6"):
        find_optimal_design((2,) * 6, 6, 1, 1)


@QUICK
@given(st.lists(st.integers(2, 3), min_size=2, max_size=4))
def test_nothing_is_aliased_where_every_combination_is_measured(sizes: list[int]) -> None:
    rows = list(itertools.product(*(range(size) for size in sizes)))
    structure = find_aliases(rows, sizes, [f"f{at}" for at in range(len(sizes))])
    assert structure.groups == ()
    assert (
        structure.between_mains is structure.main_with_interaction is structure.between_interactions is None
    )
