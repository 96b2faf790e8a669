import math

import numpy as np
import pytest
from scipy.stats import binom

from datamill.analysis.assumptions.check import check_assumptions
from datamill.analysis.assumptions.diagnostics import gather_diagnostics
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import ModelFactor, gather_cells

FACTORS = [ModelFactor("aslr", ("off", "on")), ModelFactor("padding", ("0", "64", "4096"))]


def make_codes(replicates: int) -> np.ndarray:
    return np.array([(a, b) for a in range(2) for b in range(3) for _ in range(replicates)])


def test_a_share_is_the_effect_over_the_mean_with_the_error_of_a_ratio() -> None:
    codes = make_codes(5)
    values = 200 + 4 * codes[:, 0] + np.random.default_rng(1).standard_normal(len(codes))
    model = fit_linear_model(gather_cells(FACTORS, codes, values), order=2)
    share, coefficient = model.shares[0], model.coefficients[0]
    mean, ratio = model.mean.estimate, coefficient.value.estimate / model.mean.estimate
    assert (share.term, share.levels) == ("aslr", ())
    assert share.percent == pytest.approx(100 * ratio)
    # In a balanced design effect and mean are independent and, coded -1/+1, have the same error.
    error = coefficient.standard_error * math.sqrt(1 + ratio**2) / mean
    assert share.standard_error == pytest.approx(100 * error, rel=1e-9)
    padding = [item.percent for item in model.shares if item.term == "padding"]
    assert len(padding) == 3
    assert sum(padding) == pytest.approx(0, abs=1e-9)


def test_one_standard_error_holds_the_true_share_in_two_thirds_of_cases() -> None:
    rng, codes, trials, hits = np.random.default_rng(2), make_codes(6), 1000, 0
    truth = 100 * 3.0 / 33.0
    for _ in range(trials):
        values = 30 + 6 * codes[:, 0] + 3 * rng.standard_normal(len(codes))
        share = fit_linear_model(gather_cells(FACTORS, codes, values), order=1).shares[0]
        hits += abs(share.percent - truth) <= share.standard_error
    low, high = binom.interval(0.9999, trials, 0.675)
    assert low <= hits <= high


def test_there_is_no_share_of_a_mean_that_may_be_zero() -> None:
    codes = make_codes(4)
    values = np.random.default_rng(3).standard_normal(len(codes))
    assert fit_linear_model(gather_cells(FACTORS, codes, values), order=1).shares == ()


def test_an_observation_far_out_is_named_with_its_levels_and_drawn() -> None:
    codes = make_codes(5)
    values = 50 + np.random.default_rng(4).standard_normal(len(codes))
    values[17] += 40
    cells = gather_cells(FACTORS, codes, values)
    model = fit_linear_model(cells, order=2)
    checks = check_assumptions(cells, model)
    assert checks.influential is not None
    assert (checks.influential.row, checks.influential.levels) == (18, ("on", "0"))
    assert checks.influential.influential
    assert any("observation 18 (on, 0)" in warning for warning in checks.warnings)
    assert checks.shape is not None
    assert checks.shape.largest_share > 0.5
    drawn = gather_diagnostics(cells, model)
    assert drawn is not None
    assert 18 in drawn.rows
    assert drawn.counts.sum() + drawn.outside == len(codes)


def test_many_normal_residuals_with_a_trace_of_skewness_are_close_enough() -> None:
    rng = np.random.default_rng(5)
    codes = make_codes(5000)
    noise = rng.standard_normal(len(codes))
    cells = gather_cells(FACTORS, codes, 100 + noise + 0.03 * noise**2)
    checks = check_assumptions(cells, fit_linear_model(cells, order=2))
    normal = next(check for check in checks.checks if check.assumption == "normal errors")
    assert normal.p < 0.01
    assert normal.state == "held"
    assert "so close to it" in normal.words
    assert checks.trust == "means"


def test_skewed_residuals_harm_few_observations_and_not_many() -> None:
    rng = np.random.default_rng(6)
    states = []
    for replicates in (8, 4000):
        codes = make_codes(replicates)
        cells = gather_cells(FACTORS, codes, 10 + rng.exponential(1, len(codes)) ** 1.5)
        checks = check_assumptions(cells, fit_linear_model(cells, order=2))
        states.append(next(check.state for check in checks.checks if check.assumption == "normal errors"))
    assert states == ["failed", "harmless"]
