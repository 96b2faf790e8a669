"""Permutation tests where exchanges tie: decimals beside a large offset are no exact numbers."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import datamill


def list_exchanges(first: np.ndarray, second: np.ndarray) -> float:
    """Two-sided p from all choices of the second group, counted in whole numbers."""
    values = np.concatenate([first, second])
    sums = np.array(
        [np.sum(values[list(chosen)]) for chosen in combinations(range(values.size), second.size)]
    )
    observed = np.sum(second)
    return min(1.0, 2 * min(float(np.mean(sums <= observed)), float(np.mean(sums >= observed))))


@pytest.mark.parametrize("offset", [0, 1000, 1_000_000, 1_000_000_000])
@pytest.mark.parametrize("seed", range(8))
def test_tied_exchanges_count_whatever_the_offset_of_the_observations(offset: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tenths = [rng.integers(0, 5, size) for size in rng.integers(4, 7, 2)]
    table = pl.DataFrame(
        {
            "mode": ["p"] * tenths[0].size + ["q"] * tenths[1].size,
            "y": [
                float(f"{offset + tenth // 10}.{tenth % 10}") for part in tenths for tenth in part.tolist()
            ],
        }
    )
    found = datamill.tests(table, response="y", factors=["mode"], assume="exchangeable")
    assert found.comparison.strata[0].pairs[0].test.p == pytest.approx(list_exchanges(*tenths), rel=1e-9)


@pytest.mark.parametrize("values", [[0.1, 0.2, 0.3], [0.1, 0.2, 0.3, 0.7, 1.1], [1e6 + 0.1, 1e6 + 0.3]])
def test_three_groups_with_the_same_observations_are_as_alike_as_can_be(values: list[float]) -> None:
    table = pl.DataFrame({"mode": np.repeat(["p", "q", "r"], len(values)), "y": values * 3})
    overall = (
        datamill.tests(table, response="y", factors=["mode"], assume="exchangeable")
        .comparison.strata[0]
        .overall
    )
    assert overall is not None
    assert overall.p == 1.0
