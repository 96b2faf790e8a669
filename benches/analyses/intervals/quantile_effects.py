"""`quantiles`: effects of a factor and slopes of a covariate, by method, quantile and shape of the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.stats import norm

from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.analysis.model_data.coding import list_formula_terms
from datamill.analysis.model_data.observations import Covariate, Observations
from datamill.analysis.model_data.question import ModelData
from datamill.analysis.quantile.model import fit_quantiles
from intervals.row import Outcome, Row, holds

#: Draws of methods that draw: as many as `p < 0.05` needs, fewer than `auto` takes.
DRAWS = 199
SHIFT, SLOPE = 1.0, 0.5


@dataclass(frozen=True, slots=True)
class Case:
    """One row: `method` at `quantile` of `n` observations of `kind`, with or without a covariate.

    `share` is that of the observations at the factor's low level.
    """

    method: str
    kind: str
    n: int
    quantile: float
    covariate: bool
    share: float = 0.5


@dataclass(frozen=True, slots=True)
class Errors:
    """Draws errors, and their quantile where the covariate is 0."""

    draw: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    quantile: Callable[[float], float]
    slope: Callable[[float], float]


def _draw_series(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """A stationary series of standard deviation 1, whose neighbours correlate by 0.5."""
    steps = rng.standard_normal(x.size) * math.sqrt(0.75)
    found = np.empty(x.size)
    found[0] = rng.standard_normal()
    for at in range(1, x.size):
        found[at] = 0.5 * found[at - 1] + steps[at]
    return found


KINDS = {
    "normal": Errors(lambda rng, x: rng.standard_normal(x.size), norm.ppf, lambda _: 0.0),
    "log-normal": Errors(
        lambda rng, x: rng.lognormal(size=x.size), lambda q: math.exp(norm.ppf(q)), lambda _: 0.0
    ),
    "Pareto 3": Errors(
        lambda rng, x: (1 - rng.random(x.size)) ** (-1 / 3), lambda q: (1 - q) ** (-1 / 3), lambda _: 0.0
    ),
    "spread grows with x": Errors(
        lambda rng, x: (1 + 0.5 * x) * rng.standard_normal(x.size), norm.ppf, lambda q: 0.5 * norm.ppf(q)
    ),
    "series": Errors(_draw_series, norm.ppf, lambda _: 0.0),
}


def _repeat(case: Case, rng: np.random.Generator) -> Outcome:
    """One experiment: whether intervals of effect and slope held, and whether that was warned of."""
    errors, n = KINDS[case.kind], case.n
    factor = ModelFactor("a", ("low", "high"))
    low = max(2, round(case.share * n))
    codes = (rng.permutation(n) >= low).astype(np.int64)
    x = rng.uniform(-1, 1, n)
    values = SHIFT * codes + errors.draw(rng, x) + (SLOPE * x if case.covariate else 0.0)
    names = [("a",), ("x",)] if case.covariate else [("a",)]
    terms = list_formula_terms([factor], ["x"] if case.covariate else [], names)
    trials = np.arange(n, dtype=np.uint32) // 5 if case.method == "cluster" else None
    if trials is not None:
        # Five observations a trial, of one level, which resemble each other.
        of_trial = (rng.permutation(n // 5) >= low // 5).astype(np.int64)
        codes = np.repeat(of_trial, 5)
        shared = rng.standard_normal(n // 5)[trials]
        values = SHIFT * codes + (shared + errors.draw(rng, x)) / math.sqrt(2)
    cells = gather_cells([factor], codes[:, None], values)
    observations = Observations(
        "y", "", cells, 0, 0,
        covariates=(Covariate("x", x),) if case.covariate else (),
        trials=trials,
        order=np.arange(n, dtype=np.float64) if case.method == "block" else None,
    )  # fmt: skip
    model = fit_quantiles(
        ModelData(observations, terms), [case.quantile], errors=case.method, replicates=DRAWS,
        seed=int(rng.integers(1 << 30)),
    )  # fmt: skip
    rows = {row.name: row.value for row in model.fits[0].coefficients[1:]}
    effect = next(value for name, value in rows.items() if name != "x")
    warned = any("less often" in text or "beyond" in text for text in model.warnings)
    held = {"effect": (holds(effect, SHIFT / 2), warned)}
    if case.covariate:
        held["slope"] = holds(rows["x"], SLOPE + errors.slope(case.quantile)), warned
    return held


def _list_cases() -> Iterator[Case]:
    """All rows, the cheap ones first."""
    for method in ("iid", "nid", "kernel", "rank"):
        for n in (50, 200):
            for quantile in (0.5, 0.9):
                for kind in ("normal", "log-normal", "spread grows with x"):
                    yield Case(method, kind, n, quantile, True)
    for quantile in (0.5, 0.9):
        for n in (100, 400):
            yield Case("cluster", "normal", n, quantile, False)
    for kind in ("normal", "log-normal", "Pareto 3"):
        for n in (50, 200):
            for quantile in (0.5, 0.9):
                yield Case("binomial", kind, n, quantile, False)
    for method in ("binomial", "iid", "nid", "rank", "kernel", "rows"):
        for kind in ("normal", "log-normal"):
            yield Case(method, kind, 200, 0.99, method != "binomial", 0.25)
    for quantile in (0.5, 0.9):
        for n in (100, 400):
            yield Case("block", "normal", n, quantile, False)
            yield Case("block", "series", n, quantile, False)
            yield Case("rows", "series", n, quantile, False)
    for quantile in (0.5, 0.9):
        for n in (50, 200):
            for kind in ("normal", "log-normal", "spread grows with x"):
                yield Case("rows", kind, n, quantile, True)


def list_rows() -> Iterator[Row]:
    """All rows of `quantiles`."""
    for case in _list_cases():
        levels = "" if case.share == 0.5 else f", {round(case.share * case.n)} against the rest"
        data = f"{case.kind}, quantile {case.quantile:g}{levels}"
        yield Row("quantiles", case.method, data, f"{case.n}", partial(_repeat, case))
