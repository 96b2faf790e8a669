"""The exact p of a correlation of ranks: every order is counted, ties included."""

import math
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import rankdata

from datamill.analysis.distribution.windows import judge_ranks


@pytest.mark.parametrize("levels", [2, 4, 100])
@pytest.mark.parametrize("n", [4, 6, 8])
def test_p_is_twice_the_share_of_all_orders_that_are_as_extreme(n: int, levels: int) -> None:
    generator = np.random.default_rng(n * levels)
    ranks = rankdata(generator.integers(0, levels, (n, 2)), axis=0)
    first, second = ranks.T
    sums = np.array([first @ np.array(order) for order in permutations(second)])
    observed = first @ second
    share = min(np.mean(sums <= observed + 1e-9), np.mean(sums >= observed - 1e-9))
    rho = float(np.corrcoef(ranks.T)[0, 1]) if np.ptp(first) * np.ptp(second) else 0.0
    assert judge_ranks(ranks, rho) == pytest.approx(min(1.0, 2 * share), rel=1e-12)


@pytest.mark.parametrize("n", [10, 11, 12])
def test_next_to_the_perfect_order_are_the_exchanges_of_two_neighbours(n: int) -> None:
    ranks = np.arange(1.0, n + 1)
    others = ranks.copy()
    others[[0, 1]] = others[[1, 0]]
    both = np.column_stack([ranks, others])
    # The perfect order itself, and n - 1 exchanges.
    assert judge_ranks(both, float(np.corrcoef(both.T)[0, 1])) == pytest.approx(2 * n / math.factorial(n))
