"""What must hold of best subsets for any data, beside a plain enumeration."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datamill.platforms.subsets.best_subsets import best_by_criterion, best_of_each_column, best_subsets
from datamill.platforms.subsets.criteria import find_adjusted_r2, find_cp, find_variances

TIE = 1e-8


@st.composite
def draw_data(draw):
    """Few enough to enumerate; some columns repeat others, are constant, or depend on two."""
    rows, columns = draw(st.integers(3, 12)), draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    table = rng.normal(size=(rows, columns)) + draw(st.sampled_from([0.0, 1.0, 100.0])) * rng.normal(
        size=(rows, 1)
    )
    for column in range(1, columns):
        kind = draw(st.sampled_from(["own", "own", "own", "copy", "constant", "sum"]))
        if kind == "copy":
            table[:, column] = 3 * table[:, column - 1] + 1
        elif kind == "constant":
            table[:, column] = 0.1
        elif kind == "sum" and column > 1:
            table[:, column] = table[:, column - 1] - table[:, column - 2]
    response = table @ rng.normal(size=columns) * draw(st.sampled_from([0.0, 1.0])) + rng.normal(size=rows)
    return table, response


def enumerate_subsets(table, response, size):
    """RSS and columns of all subsets of independent columns."""
    centred = table - table.mean(axis=0)
    lengths = np.sqrt((centred**2).sum(axis=0))
    flat = lengths <= 1e-12 * np.abs(table).max(axis=0)
    centred = np.where(flat, 0, centred / np.where(flat, 1, lengths))
    target = response - response.mean()
    found = []
    for members in combinations(range(table.shape[1]), size):
        left, values, _ = np.linalg.svd(centred[:, members], full_matrices=False)
        if len(values) < size or values[-1] < 1e-9:
            continue
        residual = target - left @ (left.T @ target)
        residual -= left @ (left.T @ residual)
        found.append((float(residual @ residual), members))
    return found


def list_members(row):
    return tuple(int(column) for column in row if column >= 0)


@settings(deadline=None, max_examples=150)
@given(draw_data())
def test_each_size_has_the_smallest_sum_of_squares_of_all_subsets(data):
    table, response = data
    count = table.shape[1]
    best = best_subsets(table, response, largest=count)
    total = ((response - response.mean()) ** 2).sum()
    assert best.total[0] == pytest.approx(total)
    for size in range(1, count + 1):
        every = sorted(enumerate_subsets(table, response, size))
        rss = best.rss[0, size - 1]
        if not every:
            assert np.isnan(rss)
            assert list_members(best.members[0, size - 1]) == ()
            continue
        assert rss == pytest.approx(every[0][0], rel=1e-6, abs=1e-18 * total)
        near = [members for other, members in every if other <= every[0][0] * (1 + TIE) + 1e-22 * total]
        members = list_members(best.members[0, size - 1])
        if best.ties[0, size - 1] >= 0:
            assert best.ties[0, size - 1] == len(near) - 1
            assert members == min(near)
        else:
            assert rss == 0
            assert members in [other for left, other in every if left <= 1e-18 * total]


@settings(deadline=None, max_examples=150)
@given(draw_data(), st.sampled_from(["adjusted-r2", "cp"]))
def test_no_subset_is_better_by_the_criterion(data, criterion):
    table, response = data
    rows = len(table)
    variance = find_variances(table, response)
    best = best_by_criterion(table, response, None, criterion, None, variance)
    centred = response - response.mean()
    sizes = range(min(rows - 2, table.shape[1]) + 1)
    every = [
        (rss, members)
        for size in sizes
        for rss, members in (
            [(centred @ centred, ())] if size == 0 else enumerate_subsets(table, response, size)
        )
    ]
    rss = np.array([rss for rss, _ in every])
    size = np.array([len(members) for _, members in every])
    if criterion == "cp":
        # With next to no error all digits of a sum of squares are rounding.
        if not variance[0] > 1e-18 * (centred @ centred):
            return
        values = -find_cp(rss, variance[0], np.array(rows), size)
        assert -best.value[0] == pytest.approx(np.nanmax(values), rel=1e-6, abs=1e-6)
    else:
        values = find_adjusted_r2(rss, np.array(centred @ centred), np.array(rows), size)
        assert best.value[0] == pytest.approx(np.nanmax(values), rel=1e-9, abs=1e-9)
    assert list_members(best.members[0]) in [members for _, members in every]
    assert best.size[0] == len(list_members(best.members[0]))


@settings(deadline=None, max_examples=60)
@given(draw_data())
def test_each_column_in_turn_is_what_one_by_one_gives(data):
    table, response = data
    table = np.column_stack([table, response])
    sets = [np.arange(len(table)), np.arange(0, len(table), 2)]
    variances = np.ones((2, table.shape[1]))
    together = best_of_each_column(table, sets, variances=variances)
    for place, (rows, column) in enumerate(
        (rows, column) for rows in sets for column in range(table.shape[1])
    ):
        others = np.delete(np.arange(table.shape[1]), column)
        for criterion, found in (("adjusted-r2", together.by_adjusted_r2), ("cp", together.by_cp)):
            if np.ptp(table[rows, column]) < 1e-9 * abs(table[rows, column]).max():
                assert found.size[place] == 0
                continue
            alone = best_by_criterion(table[:, others], table[:, column], [rows], criterion, None, np.ones(1))
            assert found.size[place] == alone.size[0]
            assert found.rss[place] == pytest.approx(alone.rss[0], rel=1e-6, abs=1e-18 * alone.total[0])
            if found.rss[place] > 1e-12 * alone.total[0]:
                assert list_members(found.members[place]) == list_members(
                    others[alone.members[0, : alone.size[0]]]
                )
                assert found.ties[place] == alone.ties[0]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(5, 14), st.integers(2, 9))
def test_units_and_the_sequence_of_columns_do_not_matter(seed, rows, columns):
    rng = np.random.default_rng(seed)
    table, response = rng.normal(size=(rows, columns)), rng.normal(size=rows)
    order = rng.permutation(columns)
    scale, offset = 10.0 ** rng.integers(-6, 7, columns), rng.normal(size=columns)
    largest = min(columns, rows - 2)
    plain = best_subsets(table, response, largest=largest)
    other = best_subsets(
        table[:, order] * scale + offset * scale, 1e5 * response + 7, [rng.permutation(rows)], largest=largest
    )
    np.testing.assert_allclose(other.rss, 1e10 * plain.rss, rtol=1e-5, atol=1e-10 * 1e10 * plain.total[0])
    for size in range(largest):
        if plain.rss[0, size] > 1e-8 * plain.total[0]:
            moved = sorted(order[other.members[0, size, : size + 1]])
            assert tuple(moved) == list_members(plain.members[0, size])


def test_both_searches_agree_where_rows_are_few_and_columns_many():
    """Few of many columns are sought on cross products, up to the rows' number on vectors."""
    rng = np.random.default_rng(5)
    table = np.exp(rng.normal(size=(15, 1)) + 0.1 * rng.normal(size=(15, 16)))
    response = table[:, 3] + table[:, 7] + 0.05 * rng.normal(size=15)
    few = best_subsets(table, response, largest=4)
    many = best_subsets(table, response, largest=12)
    np.testing.assert_allclose(few.rss[0], many.rss[0, :4], rtol=1e-9)
    assert (few.members[0] == many.members[0, :4, :4]).all()


def test_many_sets_of_rows_are_each_what_one_gives():
    rng = np.random.default_rng(6)
    table, response = rng.normal(size=(12, 8)), rng.normal(size=12)
    sets = [np.sort(rng.choice(12, rng.integers(4, 12), replace=False)) for _ in range(40)]
    together = best_subsets(table, response, sets, largest=5)
    for place, rows in enumerate(sets):
        alone = best_subsets(table[rows], response[rows], largest=5)
        np.testing.assert_array_equal(together.rss[place], alone.rss[0])
        np.testing.assert_array_equal(together.members[place], alone.members[0])
        np.testing.assert_array_equal(together.ties[place], alone.ties[0])


def test_copies_of_a_column_are_ties_and_never_together():
    rng = np.random.default_rng(7)
    column, noise = rng.normal(size=20), rng.normal(size=20)
    table = np.column_stack([noise, column, 2 * column + 3, -column])
    best = best_subsets(table, column + 0.1 * noise + 0.1 * rng.normal(size=20))
    assert best.ties[0].tolist() == [2, 2, 0, 0]
    assert list_members(best.members[0, 0]) == (1,)
    assert list_members(best.members[0, 1]) == (0, 1)
    assert np.isnan(best.rss[0, 2:]).all()


def test_larger_subsets_than_an_exact_fit_are_not_counted():
    rng = np.random.default_rng(8)
    table = rng.normal(size=(20, 6))
    best = best_subsets(table, table[:, 2] - 2 * table[:, 4])
    assert best.rss[0, 0] > 0
    assert (best.rss[0, 1:] == 0).all()
    assert best.ties[0].tolist() == [0, 0, -1, -1, -1, -1]
    assert list_members(best.members[0, 1]) == (2, 4)
    assert {2, 4} < set(list_members(best.members[0, 3]))


@pytest.mark.parametrize(("rows", "columns"), [(6, 9), (7, 12), (9, 11), (8, 10)])
@pytest.mark.parametrize("kind", ["noise", "one sparse relation", "shared factor"])
def test_near_relations_lead_to_what_a_search_for_each_column_finds(rows, columns, kind):
    """Where rows are few one search of near relations serves all; small subsets may still be best."""
    rng = np.random.default_rng(rows * columns)
    table = rng.normal(size=(rows, columns))
    if kind == "one sparse relation":
        table[:, 4] = table[:, 1] - 2 * table[:, 2] + 1e-6 * rng.normal(size=rows)
    elif kind == "shared factor":
        table = np.exp(rng.normal(0, 0.6, (rows, 1)) + rng.normal(0, 0.15, (rows, columns)))
    variances = np.array(
        [[find_variances(np.delete(table, c, axis=1), table[:, c])[0] for c in range(columns)]]
    )
    together = best_of_each_column(table, variances=variances)
    for column in range(columns):
        others = np.delete(np.arange(columns), column)
        for criterion, found in (("adjusted-r2", together.by_adjusted_r2), ("cp", together.by_cp)):
            alone = best_by_criterion(
                table[:, others], table[:, column], None, criterion, None, variances[:, column]
            )
            members = others[alone.members[0, : alone.size[0]]]
            assert list_members(found.members[column]) == list_members(members)
            assert found.rss[column] == pytest.approx(alone.rss[0], rel=1e-6)
            assert found.ties[column] == alone.ties[0]
