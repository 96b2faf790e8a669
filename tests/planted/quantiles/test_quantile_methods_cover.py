"""Each method for errors of quantile effects covers about as often as a simulation of thousands found.

Few experiments here; docs/reference/analyses.md has the tables of `benches/analyses/interval_coverage.py`.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.analysis.model_data.coding import list_formula_terms
from datamill.analysis.model_data.observations import Covariate, Observations
from datamill.analysis.model_data.question import ModelData
from datamill.analysis.quantile.model import fit_quantiles

REPLICATIONS, SHIFT, SLOPE = 100, 1.0, 0.5


def count_replications(method: str) -> int:
    """Rank tests are inverted coefficient by coefficient, which takes a hundred times as long."""
    return REPLICATIONS // 4 if method == "rank" else REPLICATIONS


def draw_series(rng: np.random.Generator, n: int) -> np.ndarray:
    """A stationary series whose neighbours correlate by 0.5."""
    steps, found = rng.standard_normal(n) * math.sqrt(0.75), np.empty(n)
    found[0] = rng.standard_normal()
    for at in range(1, n):
        found[at] = 0.5 * found[at - 1] + steps[at]
    return found


def simulate(method: str, n: int, quantile: float, kind: str) -> tuple[int, int]:
    """How many intervals held the effect of a factor, and how many the slope of a covariate."""
    rng, factor = np.random.default_rng(14), ModelFactor("a", ("low", "high"))
    held, held_slope = 0, 0
    covariate = method != "block"
    names = [("a",), ("x",)] if covariate else [("a",)]
    terms = list_formula_terms([factor], ["x"] if covariate else [], names)
    replications = count_replications(method)
    for seed in range(replications):
        codes, x = (rng.permutation(n) >= n // 2).astype(np.int64), rng.uniform(-1, 1, n)
        errors = draw_series(rng, n) if method == "block" else rng.standard_normal(n)
        if kind == "spread":
            errors = (1 + 0.5 * x) * errors
        cells = gather_cells([factor], codes[:, None], SHIFT * codes + errors + SLOPE * x * covariate)
        observations = Observations(
            "y",
            "",
            cells,
            0,
            0,
            covariates=(Covariate("x", x),) if covariate else (),
            order=np.arange(float(n)),
        )
        data = ModelData(observations, terms)
        fit = fit_quantiles(data, [quantile], errors=method, replicates=99, seed=seed).fits[0]
        rows = {row.name: row.value for row in fit.coefficients[1:]}
        effect = next(value for name, value in rows.items() if name != "x")
        held += effect.low <= SHIFT / 2 <= effect.high
        if covariate:
            slope = SLOPE + (0.5 * norm.ppf(quantile) if kind == "spread" else 0.0)
            held_slope += rows["x"].low <= slope <= rows["x"].high
    return held, held_slope if covariate else held


@pytest.mark.parametrize(
    ("method", "n", "quantile", "kind", "least"),
    [
        ("nid", 50, 0.5, "spread", 0.93),
        ("kernel", 50, 0.5, "spread", 0.95),
        ("rank", 50, 0.5, "spread", 0.92),
        ("rank", 50, 0.9, "normal", 0.94),
        ("iid", 50, 0.5, "normal", 0.90),
        ("block", 100, 0.5, "series", 0.93),
    ],
)
def test_intervals_cover_as_often_as_the_tables_say(
    method: str, n: int, quantile: float, kind: str, least: float
) -> None:
    for held in simulate(method, n, quantile, kind):
        assert held >= binom.ppf(0.0005, count_replications(method), least)


def test_iid_errors_are_wrong_where_the_spread_grows() -> None:
    """The reason why `auto` never chooses them."""
    _, held_slope = simulate("iid", 50, 0.9, "spread")
    assert held_slope <= binom.ppf(0.99, REPLICATIONS, 0.85)


@pytest.mark.parametrize(
    ("method", "n", "warned"), [("kernel", 200, True), ("iid", 200, True), ("nid", 200, False)]
)
def test_errors_from_densities_are_warned_of_where_they_cover_too_little(
    method: str, n: int, warned: bool
) -> None:
    """At the 0.9 quantile of 200 log-normal observations kernel errors held 83% of slopes."""
    rng, factor = np.random.default_rng(3), ModelFactor("a", ("low", "high"))
    cells = gather_cells([factor], np.arange(n)[:, None] % 2, rng.lognormal(size=n))
    x = Covariate("x", rng.uniform(-1, 1, n))
    data = ModelData(
        Observations("y", "", cells, 0, 0, covariates=(x,)),
        list_formula_terms([factor], ["x"], [("a",), ("x",)]),
    )
    found = fit_quantiles(data, [0.9], errors=method).warnings
    assert (
        any(f"{method} errors are too narrow at the quantile 0.9" in warning for warning in found) == warned
    )
