"""Ranks and inversions are those of their definitions, ties included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from datamill.analysis.distribution.order_statistics import find_ranks
from datamill.analysis.ordered.ranks import count_inversions, rank_values

VALUES = st.lists(st.integers(-5, 5) | st.integers(-1000, 1000), min_size=1, max_size=40)


@given(VALUES)
def test_ties_share_the_mean_of_their_ranks(values: list[int]) -> None:
    found = rank_values(np.array(values, dtype=np.float64))
    assert found.tolist() == stats.rankdata(values).tolist()


@given(VALUES)
def test_every_pair_out_of_order_is_counted_once(values: list[int]) -> None:
    pairs = [(a, b) for at, a in enumerate(values) for b in values[at + 1 :]]
    assert count_inversions(np.array(values, dtype=np.float64)) == sum(a > b for a, b in pairs)


def test_no_value_has_no_pair() -> None:
    assert count_inversions(np.zeros(0)) == 0
    assert rank_values(np.zeros(0)).size == 0


@pytest.mark.parametrize("n", [1, 2, 9, 59, 300, 10**6])
@pytest.mark.parametrize("quantile", [0.001, 0.25, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_ranks_around_a_quantile_are_those_of_the_binomial_distribution(
    n: int, quantile: float, confidence: float
) -> None:
    tail = (1 - confidence) / 2
    count = stats.binom(n, quantile)
    assert find_ranks(quantile, n, confidence) == (int(count.ppf(tail)), int(count.isf(tail)) + 1)
