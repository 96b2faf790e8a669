"""Variances of versions whose values are of very different sizes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import datamill


@pytest.mark.parametrize("power", [-300, -100, 100])
def test_degrees_of_freedom_and_shares_do_not_depend_on_the_unit(power: int) -> None:
    rng = np.random.default_rng(4)
    rows = []
    for build in range(5):
        of_build = rng.normal(0, 1)
        for execution in range(2 + build % 3):
            of_execution = rng.normal(0, 1)
            rows += [(build, execution, of_build + of_execution + rng.normal()) for _ in range(2 + execution)]
    plain = pl.DataFrame(rows, schema=["build", "execution", "value"], orient="row")
    both = pl.concat(
        [
            plain.with_columns(pl.lit("plain").alias("version")),
            plain.with_columns(pl.col("value") * 2.0**power, pl.lit("scaled").alias("version")),
        ]
    )
    one, other = (item.estimate for item in datamill.variance(both).versions)
    assert other.df == pytest.approx(one.df)
    assert other.mean.high == pytest.approx(one.mean.high * 2.0**power)
    for here, there in zip(one.uncertainty, other.uncertainty, strict=True):
        assert (there.estimate, there.low, there.high) == pytest.approx(
            (here.estimate, here.low, here.high), rel=1e-6, abs=1e-9
        )
