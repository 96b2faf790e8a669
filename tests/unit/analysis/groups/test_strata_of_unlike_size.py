"""Two groups in one stratum beside three in another: adjusted p and interval come from one level."""

import numpy as np
import polars as pl
import pytest

import datamill


@pytest.mark.parametrize("assume", ["normal", "normal-equal-variances"])
def test_p_is_small_just_where_the_interval_leaves_out_zero_in_every_stratum(assume: str) -> None:
    apart = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = [
            (machine, mode, rng.normal() + 1.8 * (mode == "q"))
            for machine, modes in (("m1", "pqr"), ("m2", "pq"))
            for mode in modes
            for _ in range(6)
        ]
        table = pl.DataFrame(rows, schema=["machine", "mode", "y"], orient="row")
        found = datamill.tests(table, response="y", factors=["mode", "machine"], assume=assume).comparison
        for pair in (pair for stratum in found.strata for pair in stratum.pairs):
            value = pair.test.estimates[0].value
            assert pair.adjusted_p is not None
            assert (pair.adjusted_p < found.alpha) == (value.low > 0 or value.high < 0)
            apart += pair.adjusted_p < found.alpha
    assert apart > 10
