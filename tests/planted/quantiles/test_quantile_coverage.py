"""Intervals of quantile effects must cover the truth, and find nothing where there is nothing."""

import math
from itertools import product

import numpy as np
import pytest
from running.nightly import choose_count
from scipy.stats import binom, norm

from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.analysis.model_data.coding import list_formula_terms
from datamill.analysis.model_data.formula import list_factorial_terms
from datamill.analysis.model_data.observations import Covariate, Observations
from datamill.analysis.model_data.question import ModelData
from datamill.analysis.quantile.model import fit_quantiles
from datamill.analysis.quantile.quantile_model import QuantileFit

#: Enough for intervals, few enough to be quick.
DRAWS = 399
REPLICATIONS = choose_count(400, 1000)


def draw(kind: str, rng: np.random.Generator, n: int) -> np.ndarray:
    if kind == "normal":
        return rng.standard_normal(n)
    if kind == "log-normal":
        return rng.lognormal(size=n)
    if kind == "Pareto tail":
        return (1 - rng.random(n)) ** (-1 / 1.5)
    if kind == "bimodal":
        return rng.standard_normal(n) + 6.0 * (rng.random(n) < 0.3)
    assert kind == "discrete"
    return np.floor(rng.exponential(5, n))


def find_quantile(kind: str, quantile: float) -> float:
    if kind == "normal":
        return float(norm.ppf(quantile))
    if kind == "log-normal":
        return math.exp(norm.ppf(quantile))
    assert kind == "Pareto tail"
    return (1 - quantile) ** (-1 / 1.5)


def make_data(
    values: np.ndarray, factors: int, replicates: int, order: int, trials: np.ndarray | None = None
) -> ModelData:
    chosen = [ModelFactor(name, ("low", "high")) for name in "abcd"[:factors]]
    codes = np.repeat(np.array(list(product([0, 1], repeat=factors))), replicates, axis=0)
    names = [factor.name for factor in chosen]
    terms = list_formula_terms(chosen, (), list_factorial_terms(names, order))
    cells = gather_cells(chosen, codes, values)
    return ModelData(Observations("y", "", cells, 0, 0, trials=trials), terms)


def count_misses(fit: QuantileFit, truth: np.ndarray) -> np.ndarray:
    low = np.array([row.value.low for row in fit.coefficients])
    high = np.array([row.value.high for row in fit.coefficients])
    return (truth < low) | (truth > high)


def assert_rate_at_most(misses: int, expected: float, trials: int) -> None:
    """The count may not exceed what the binomial distribution allows but for one time in 10 000."""
    assert misses <= binom.ppf(0.9999, trials, expected), f"{misses / trials:.4f}, at most {expected}"


@pytest.mark.parametrize(
    ("kind", "factors", "replicates", "quantile", "order"),
    [
        ("normal", 2, 10, 0.5, 2),
        ("log-normal", 2, 40, 0.9, 2),
        ("Pareto tail", 2, 400, 0.99, 2),
        ("normal", 2, 40, 0.1, 1),
        ("Pareto tail", 2, 40, 0.8, 1),
    ],
)
def test_intervals_cover_effects_of_location_and_spread(
    kind: str, factors: int, replicates: int, quantile: float, order: int
) -> None:
    rng = np.random.default_rng(replicates)
    replications = REPLICATIONS
    codes = np.repeat(np.array(list(product([0, 1], repeat=factors))), replicates, axis=0)
    spread, shift = 1 + codes[:, 0], 3.0 * codes[:, 1]
    at = find_quantile(kind, quantile)
    missed: np.ndarray | None = None
    for seed in range(replications):
        data = make_data(spread * draw(kind, rng, codes.shape[0]) + shift, factors, replicates, order)
        fit = fit_quantiles(data, [quantile], replicates=DRAWS, seed=seed).fits[0]
        truth = np.zeros(len(fit.coefficients))
        truth[:3] = 1.5 * at + 1.5, 0.5 * at, 1.5
        own = count_misses(fit, truth).astype(int)
        missed = own if missed is None else missed + own
        assert not fit.extreme
    assert missed is not None
    for count in missed:
        assert_rate_at_most(int(count), 0.05, replications)


@pytest.mark.parametrize("kind", ["normal", "log-normal", "bimodal", "discrete"])
def test_where_no_factor_acts_no_more_effects_are_found_than_alpha_allows(kind: str) -> None:
    rng = np.random.default_rng(4)
    replications, alarms, families = REPLICATIONS, np.zeros(2), np.zeros(2)
    for seed in range(replications):
        model = fit_quantiles(
            make_data(draw(kind, rng, 4 * 40), 2, 40, 2), [0.5, 0.9], replicates=DRAWS, seed=seed
        )
        for place, fit in enumerate(model.fits):
            alarms[place] += sum(row.p is not None and row.p < 0.05 for row in fit.coefficients[1:])
            families[place] += any(t.p_adjusted is not None and t.p_adjusted < 0.05 for t in fit.terms)
    for count, family in zip(alarms, families, strict=True):
        # Three effects of one data set are not independent: the bound is that of a third as many.
        assert_rate_at_most(int(count / 3), 0.05, replications)
        assert_rate_at_most(int(family), 0.05, replications)


def test_observations_of_one_trial_are_not_taken_for_replicates() -> None:
    rng = np.random.default_rng(5)
    replications, trials, size = REPLICATIONS, 10, 10
    number = np.repeat(np.arange(4 * trials), size).astype(np.uint32)
    misses = {"cluster": 0, "rows": 0}
    for seed in range(replications):
        values = rng.standard_normal(number.size) + 0.7 * rng.standard_normal(4 * trials)[number]
        for kind, own in (("cluster", number), ("rows", None)):
            if kind == "rows" and seed >= 200:
                continue
            data = make_data(values, 2, trials * size, 2, own)
            model = fit_quantiles(data, [0.5], replicates=DRAWS, seed=seed)
            misses[kind] += int(count_misses(model.fits[0], np.zeros(4))[1])
            assert model.errors == ("cluster" if own is not None else "binomial")
    assert_rate_at_most(misses["cluster"], 0.05, replications)
    # The reason why it matters.
    assert misses["rows"] > 0.2 * 200


def test_a_bootstrap_covers_slopes_where_the_spread_grows_with_the_covariate() -> None:
    rng = np.random.default_rng(6)
    replications, quantile, n = REPLICATIONS, 0.8, 80
    factor = ModelFactor("a", ("low", "high"))
    codes = np.arange(n)[:, None] % 2
    terms = list_formula_terms([factor], ["x"], [("a",), ("x",)])
    at = norm.ppf(quantile)
    missed = np.zeros(3, dtype=int)
    for seed in range(replications):
        x = rng.uniform(1, 5, n)
        cells = gather_cells([factor], codes, (1 + 0.5 * x) * rng.standard_normal(n) + 2.0 * codes[:, 0])
        data = ModelData(Observations("y", "", cells, 0, 0, covariates=(Covariate("x", x),)), terms)
        model = fit_quantiles(data, [quantile], replicates=99, seed=seed)
        # The intercept holds at the mean of the covariate.
        truth = np.array([at * (1 + 0.5 * x.mean()) + 1, 1.0, 0.5 * at])
        missed += count_misses(model.fits[0], truth)
        assert model.errors == "rows"
        assert model.covariate_means == pytest.approx([x.mean()])
    # Percentiles of 99 draws leave 1.5 points more outside than they say.
    for count in missed:
        assert_rate_at_most(int(count), 0.065, replications)


def test_a_bootstrap_of_very_many_trials_is_the_normal_one_that_it_tends_to() -> None:
    rng = np.random.default_rng(9)
    errors = {}
    for trials in (1200, 1300):
        number = np.repeat(np.arange(4 * trials), 3).astype(np.uint32)
        values = rng.standard_normal(number.size) + rng.standard_normal(4 * trials)[number]
        own = make_data(values, 2, trials * 3, 2, number)
        fit = fit_quantiles(own, [0.5], replicates=1999).fits[0]
        error = fit.coefficients[1].standard_error
        assert error is not None
        errors[trials] = error * math.sqrt(trials)
    # 4800 trials get weights of their own, 5200 do not.
    assert errors[1300] == pytest.approx(errors[1200], rel=0.1)
