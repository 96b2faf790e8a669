"""Which benchmarks are joined, where the tree is cut, and who stands for a cluster."""

from __future__ import annotations

import numpy as np
import pytest

from datamill.platforms.clusters.benchmark_tree import build_tree, choose_representatives, cut_tree


def make_suite() -> np.ndarray:
    """Benchmarks 0, 1 and 2 go together, 1 in their middle; 3 and 4 too; 5 is constant."""
    draw = np.random.default_rng(5)
    first, second, wobble = draw.normal(size=30), draw.normal(size=30), draw.normal(size=(30, 3))
    columns = [
        first + 0.2 * wobble[:, 0],
        first,
        first + 0.2 * wobble[:, 1],
        second,
        second + 0.1 * wobble[:, 2],
        np.zeros(30),
    ]
    return 20 + np.column_stack(columns)


def test_a_benchmark_that_is_constant_is_no_leaf() -> None:
    assert build_tree(make_suite()).columns.tolist() == [0, 1, 2, 3, 4]


def test_distances_are_one_less_the_correlation() -> None:
    suite = make_suite()
    tree = build_tree(suite)
    assert tree.distances == pytest.approx(1 - np.corrcoef(suite[:, :5].T), abs=1e-12)
    assert (np.diff(tree.heights) >= 0).all()


def test_cuts_give_as_many_clusters_as_are_asked_for() -> None:
    tree = build_tree(make_suite())
    assert [places.tolist() for places in cut_tree(tree, 2)] == [[0, 1, 2], [3, 4]]
    assert [len(cut_tree(tree, count)) for count in range(1, 8)] == [1, 2, 3, 4, 5, 5, 5]


def test_the_representative_is_the_one_in_the_middle_of_its_cluster() -> None:
    assert choose_representatives(build_tree(make_suite()), 2)[0] == 1


def test_of_two_the_one_nearer_to_the_whole_suite_stands_for_both() -> None:
    suite = make_suite()
    tree = build_tree(suite)
    mean = tree.distances[[3, 4]].mean(axis=1)
    assert choose_representatives(tree, 2)[1] == (3, 4)[int(np.argmin(mean))]


def test_neither_order_nor_units_of_benchmarks_change_the_representatives() -> None:
    suite = make_suite()
    order, units = np.array([4, 2, 5, 0, 3, 1]), np.array([1, 1e-3, 60, 7, 1e4, 2.5])
    chosen = set(choose_representatives(build_tree(suite), 2).tolist())
    turned = choose_representatives(build_tree((suite * units)[:, order]), 2)
    assert {int(order[column]) for column in turned} == chosen


@pytest.mark.parametrize("columns", [0, 1])
def test_a_suite_of_one_benchmark_has_a_tree_without_joins(columns: int) -> None:
    tree = build_tree(make_suite()[:, :columns])
    assert len(tree.heights) == 0
    assert choose_representatives(tree, 3).tolist() == list(range(columns))
