"""Ties: what they do to an interval is told over strata as well, and ends that are zero are zero."""

import numpy as np
import polars as pl
import pytest

import datamill


def compare_over_strata(decimals: int) -> tuple[str, ...]:
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {
            "day": np.repeat(["mon", "tue"], 20),
            "mode": np.tile(["p", "q"], 20),
            "y": np.round(rng.normal(10, 1, 40), decimals),
        }
    )
    found = datamill.tests(table, response="y", factors=["mode", "day"], factor="mode")
    assert found.comparison.combined is not None
    return found.comparison.combined.test.warnings


def test_an_interval_over_strata_that_does_not_know_of_ties_says_so() -> None:
    assert any("there are ties" in text for text in compare_over_strata(0))


def test_nothing_is_said_of_ties_where_there_are_none() -> None:
    assert not any("ties" in text for text in compare_over_strata(9))


@pytest.mark.parametrize("offset", [0, 1000, 1_000_000])
def test_a_permutation_interval_leaves_out_zero_only_where_p_says_so(offset: int) -> None:
    touched = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        tenths = np.concatenate([rng.integers(0, 4, 5), rng.integers(1, 5, 5)]).tolist()
        y = [float(f"{offset}.{tenth}") for tenth in tenths]
        table = pl.DataFrame({"mode": np.repeat(["p", "q"], 5), "y": y})
        test = datamill.tests(table, response="y", factors=["mode"], assume="exchangeable").comparison
        pair = test.strata[0].pairs[0].test
        assert pair.p is not None
        low, high = pair.estimates[0].value.low, pair.estimates[0].value.high
        assert (low > 0 or high < 0) == (pair.p <= 0.05)
        touched += 0 in (low, high)
    assert touched > 3
