"""Cuts of series: none is better, and the penalty at which there is none is the least."""

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from datamill.analysis.versions.segmentation import cut_series, find_needed_penalty

SERIES = st.lists(
    st.tuples(st.floats(-10, 10, width=32), st.floats(0.125, 5, width=32)), min_size=3, max_size=8
)


def cost(values: np.ndarray, weights: np.ndarray, cuts: tuple[int, ...], penalty: float) -> float:
    total = penalty * len(cuts)
    for start, end in pairwise((0, *cuts, values.size)):
        part, mass = values[start:end], weights[start:end]
        total += float(np.sum(mass * (part - np.average(part, weights=mass)) ** 2))
    return total


def list_cuts(count: int) -> list[tuple[int, ...]]:
    return [cuts for size in range(count) for cuts in combinations(range(1, count), size)]


@settings(deadline=None, max_examples=60)
@given(SERIES, st.floats(0.01, 50))
def test_no_cut_of_all_is_better_than_the_one_found(
    series: list[tuple[float, float]], penalty: float
) -> None:
    values, weights = (np.array(part) for part in zip(*series, strict=True))
    found = cost(values, weights, tuple(cut_series(values, weights, penalty)), penalty)
    best = min(cost(values, weights, cuts, penalty) for cuts in list_cuts(values.size))
    assert found <= best + 1e-8 * (1 + abs(best))


@settings(deadline=None, max_examples=60)
@given(SERIES)
def test_the_needed_penalty_is_the_largest_mean_gain_of_a_cut(series: list[tuple[float, float]]) -> None:
    values, weights = (np.array(part) for part in zip(*series, strict=True))
    whole = cost(values, weights, (), 0.0)
    expected = max(
        (whole - cost(values, weights, cuts, 0.0)) / len(cuts) for cuts in list_cuts(values.size) if cuts
    )
    needed = float(find_needed_penalty(values[None], weights[None])[0])
    assert abs(needed - expected) <= 1e-8 * (1 + whole)
    assert not cut_series(values, weights, needed * 1.001 + 1e-9)
