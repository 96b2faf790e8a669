"""Terms of several coefficients judged from few trials err as often as their single coefficients, no more."""

import numpy as np
import polars as pl
import pytest
from scipy.special import fdtrc

import datamill
from datamill.analysis.quantile.inference import DrawnInference


@pytest.mark.parametrize("df", [4.0, 12.0, 60.0])
@pytest.mark.parametrize("size", [2, 5])
def test_the_joint_test_of_normal_draws_is_walds_f(size: int, df: float) -> None:
    rng = np.random.default_rng(2)
    scales = np.arange(1.0, size + 1)
    estimates = scales * np.array([2.0, -1.5, 0.5, 1.0, 0.2])[:size]
    draws = estimates + scales * rng.normal(size=(200_000, size))
    p = DrawnInference(draws, 0.95, np.full(size, df)).test(estimates, slice(0, size))
    assert p == pytest.approx(float(fdtrc(size, df, np.sum((estimates / scales) ** 2) / size)), rel=0.05)


def test_six_levels_of_four_trials_each_differ_no_more_often_than_single_effects_do() -> None:
    joint, single, repetitions = 0, 0, 150
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        trial = np.repeat(np.arange(24), 20)
        mode = np.array(list("pqrstu"))[trial % 6]
        y = rng.normal(size=24)[trial] + 0.5 * rng.normal(size=480)
        table = pl.DataFrame({"mode": mode, "trial": trial, "y": y})
        fit = datamill.quantiles(
            table, response="y", factors=["mode"], trial="trial", quantiles=[0.1], replicates=499
        ).model.fits[0]
        joint += fit.terms[0].p is not None and fit.terms[0].p < 0.05
        single += sum(row.p is not None and row.p < 0.05 for row in fit.coefficients[1:])
    # Of so few trials in the tail more than 5%, which is warned of; the joint test was wrong in 25%.
    assert joint <= single / 5 + 3 * np.sqrt(0.1 * 0.9 * repetitions)
    assert joint < 0.18 * repetitions
