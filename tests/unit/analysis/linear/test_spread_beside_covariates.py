"""Beside a covariate equal spread is a matter of the residuals: the response also varies by the covariate."""

import numpy as np
import polars as pl
import pytest

import datamill
from datamill.analysis.assumptions import equal_spread as linear_spread
from datamill.analysis.assumptions.assumption_checks import CheckResult
from datamill.analysis.assumptions.residuals import take_residuals


def check_spread(deviations: tuple[float, float], reach: tuple[float, float]) -> CheckResult:
    """The check of two modes, with these deviations of the errors and reaches of the covariate."""
    rng = np.random.default_rng(1)
    mode = np.repeat(["p", "q"], 100)
    x = rng.uniform(-1, 1, 200) * np.repeat(reach, 100)
    y = 10 + 0.5 * x + (mode == "q") + rng.normal(size=200) * np.repeat(deviations, 100)
    table = pl.DataFrame({"mode": mode, "x": x, "y": y})
    checks = datamill.anova(table, formula="y ~ mode + x", quantiles=False).checks.checks
    return next(check for check in checks if check.assumption == "equal variances")


def test_a_covariate_that_ranges_further_at_one_level_makes_no_unequal_spread() -> None:
    check = check_spread((1.0, 1.0), (5.0, 50.0))
    assert check.state == "held"
    assert check.size == pytest.approx(1.0, abs=0.15)


def test_unequal_errors_are_told_with_their_own_ratio_and_direction_whatever_the_covariate_does() -> None:
    check = check_spread((6.0, 1.0), (10.0, 14.0))
    assert check.state == "failed"
    assert check.size == pytest.approx(6.0, rel=0.2)
    assert "times as large at p as at q" in check.words


def test_without_a_covariate_the_ratio_is_that_of_the_cells() -> None:
    rng = np.random.default_rng(2)
    mode = np.repeat(["p", "q"], 40)
    y = rng.normal(size=80) * np.repeat([1.0, 3.0], 40)
    checks = datamill.anova(
        pl.DataFrame({"mode": mode, "y": y}), response="y", factors=["mode"], quantiles=False
    ).checks.checks
    check = next(item for item in checks if item.assumption == "equal variances")
    assert check.size == pytest.approx(np.std(y[40:], ddof=1) / np.std(y[:40], ddof=1))


def test_a_ratio_is_judged_by_the_residuals_looked_at_and_not_by_all_there_are() -> None:
    rng = np.random.default_rng(3)
    mode, x = np.repeat(["p", "q"], 1000), rng.normal(size=2000)
    y = x + rng.normal(size=2000)
    table = pl.DataFrame({"mode": mode, "x": x, "y": y})
    found = datamill.anova(table, formula="y ~ mode + x", quantiles=False)
    cells, model = found.observations.cells, found.model
    # Six of the second mode's that lie half as far apart as the first mode's, as may well be chance.
    wanted = np.array([-0.6, -0.35, -0.1, 0.1, 0.35, 0.6])
    residuals, _ = take_residuals(cells, model, slice(None))
    near = 1000 + np.argmin(np.abs(residuals[None, 1000:] - wanted[:, None]), axis=1)
    rows = np.concatenate([np.arange(1000), near])
    check = linear_spread.check_spread(cells, model, residuals[rows], rows)
    assert check is not None
    assert check.size > 1.5
    assert check.state == "held"
