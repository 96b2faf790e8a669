"""Where observations tie, no effect is found between equal groups, and p agrees with the interval."""

import numpy as np
import pytest
from running.nightly import choose_count
from scipy.stats import binom

import datamill
from datamill.analysis.quantile.quantile_model import QuantileFit

ROUNDS = choose_count(40, 150)


def draw(kind: str, rng: np.random.Generator, n: int) -> np.ndarray:
    if kind == "zero-inflated":
        return np.where(rng.random(n) < 0.7, 0.0, 1 + rng.exponential(1, n))
    if kind == "two values":
        return np.where(rng.random(n) < 0.8, 10.0, 20.0)
    if kind == "Poisson 0.3":
        return rng.poisson(0.3, n).astype(float)
    if kind == "Poisson 5":
        return rng.poisson(5, n).astype(float)
    if kind == "rounded normal":
        return np.round(rng.normal(100, 1, n))
    assert kind == "rounded log-normal"
    return np.round(rng.lognormal(1.5, 0.3, n))


KINDS = ("zero-inflated", "two values", "Poisson 0.3", "Poisson 5", "rounded normal", "rounded log-normal")


def is_alarm(fit: QuantileFit) -> bool:
    """Whether something is detected; an effect that is must have an interval without 0, and no other."""
    for row in fit.coefficients[1:]:
        if row.p is not None:
            assert (row.p < 0.05) == (not row.value.low <= 0 <= row.value.high)
    return any(term.p_adjusted is not None and term.p_adjusted < 0.05 for term in fit.terms)


def assert_rate(alarms: int) -> None:
    assert alarms <= binom.ppf(0.9999, ROUNDS, 0.05), f"{alarms} alarms in {ROUNDS} rounds"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "quantile"), [(20, 0.5), (100, 0.5), (60, 0.9)])
def test_equal_groups_with_ties_differ_no_more_often_than_alpha_says(
    kind: str, n: int, quantile: float
) -> None:
    alarms = 0
    for seed in range(ROUNDS):
        data = {"a": ["u", "v"] * n, "y": draw(kind, np.random.default_rng(seed), 2 * n)}
        found = datamill.quantiles(data, response="y", factors=["a"], quantiles=[quantile], replicates=399)
        alarms += is_alarm(found.model.fits[0])
    assert_rate(alarms)


@pytest.mark.parametrize("kind", KINDS)
def test_ties_raise_no_alarms_in_an_unsaturated_model_or_with_three_levels(kind: str) -> None:
    two, three, n = 0, 0, 20
    crossed = {"a": ["u", "v"] * (2 * n), "b": ["x"] * (2 * n) + ["y"] * (2 * n)}
    for seed in range(ROUNDS):
        rng = np.random.default_rng(seed)
        data = {**crossed, "y": draw(kind, rng, 4 * n)}
        asked = datamill.quantiles(
            data, response="y", factors=["a", "b"], order=1, quantiles=[0.5], replicates=199
        )
        two += is_alarm(asked.model.fits[0])
        data = {"a": ["u", "v", "w"] * n, "y": draw(kind, rng, 3 * n)}
        asked = datamill.quantiles(data, response="y", factors=["a"], quantiles=[0.5], replicates=199)
        three += is_alarm(asked.model.fits[0])
    assert_rate(two)
    assert_rate(three)


def test_ties_raise_no_alarms_where_trials_have_several_observations() -> None:
    n, alarms = 20, 0
    trial = [f"t{2 * (row // 8) + row % 2}" for row in range(4 * n)]
    for seed in range(ROUNDS):
        data = {"a": ["u", "v"] * (2 * n), "t": trial}
        data["y"] = draw("Poisson 5", np.random.default_rng(seed), 4 * n)
        found = datamill.quantiles(
            data, response="y", factors=["a"], trial="t", quantiles=[0.5], replicates=199
        )
        alarms += is_alarm(found.model.fits[0])
    assert_rate(alarms)


def test_a_true_shift_of_tied_data_is_found() -> None:
    rng = np.random.default_rng(0)
    y = np.round(rng.normal(100, 1, 200)) + np.tile([0.0, 2.0], 100)
    found = datamill.quantiles({"a": ["u", "v"] * 100, "y": y}, response="y", factors=["a"], quantiles=[0.5])
    assert is_alarm(found.model.fits[0])
    assert "a changes the median of y by +2" in found.lead[0]
