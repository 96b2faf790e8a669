"""Limits and p-values of quantile regression say the same, at every level and with few draws or trials."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm, t

import datamill
from datamill.analysis.quantile.inference import DrawnInference

LEVELS = [0.6, 0.9, 0.95, 0.99, 0.999, 0.99999]
ONE = np.ones(1)


@pytest.mark.parametrize("df", [None, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("draws", [99, 199, 999])
def test_limits_leave_out_zero_just_where_p_is_below_the_level(df: float | None, draws: int) -> None:
    rng = np.random.default_rng(8)
    seen = set()
    for centre in np.linspace(-6, 6, 49):
        drawn = rng.normal(centre, 1, (draws, 1))
        for level in LEVELS:
            inference = DrawnInference(drawn, level, None if df is None else np.array([df]))
            found = inference.infer(float(np.median(drawn)), ONE)
            assert found.p is not None
            outside = found.value.low > 0 or found.value.high < 0
            # A p that is the level itself does not fall below it.
            assert outside == (found.p < 1 - level - 1e-12)
            seen.add(outside)
    assert seen == {True, False}


@pytest.mark.parametrize("df", [None, 2.0])
def test_limits_grow_with_the_level_beyond_what_draws_resolve(df: float | None) -> None:
    drawn = np.random.default_rng(2).normal(0, 1, (999, 1))
    ends = [
        DrawnInference(drawn, level, None if df is None else np.array([df])).infer(0.0, ONE).value.high
        for level in LEVELS
    ]
    tails = [(1 - level) / 2 for level in LEVELS]
    asked = [-norm.ppf(tail) if df is None else -t.ppf(tail, df) for tail in tails]
    assert all(later > sooner for sooner, later in pairwise(ends))
    assert ends == pytest.approx(asked, rel=0.2)


def test_few_trials_leave_p_large_however_far_away_zero_is() -> None:
    drawn = np.random.default_rng(2).normal(1000, 1, (999, 1))
    found = DrawnInference(drawn, 0.95, np.array([1.0])).infer(1000.0, ONE)
    assert found.p == pytest.approx(2 * t.sf(1000, 1), rel=0.2)


def test_rank_tests_agree_with_their_limits() -> None:
    rng = np.random.default_rng(5)
    seen = set()
    for repetition in range(60):
        n = 30 + repetition
        x, g = rng.normal(0, 1, n), rng.integers(0, 2, n)
        y = np.round(rng.normal(0, 1, n) + 0.4 * x + 0.5 * g, 1)
        frame = pl.DataFrame({"x": x, "g": np.array(["p", "q"])[g], "y": y})
        found = datamill.quantiles(frame, formula="y ~ g + x", quantiles=[0.5, 0.8], errors="rank")
        for fit in found.model.fits:
            for row in fit.coefficients[1:]:
                assert row.p is not None
                outside = row.value.low > 0 or row.value.high < 0
                assert outside == (row.p < 0.05)
                seen.add(outside)
    assert seen == {True, False}
