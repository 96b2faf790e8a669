"""Coverage of every interval of quantile effects, by method, quantile and shape of the data.

No comparison of speed: 1000 simulated experiments a row, in which each method says how large the effect of
a factor (and the slope of a covariate) on a quantile is. Run by hand; figures go to docs/analyses.md.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from markdown import describe_machine, format_table
from scipy.stats import norm

from datamill.analysis.model_data.cells import Factor, gather_cells
from datamill.analysis.model_data.coding import list_formula_terms
from datamill.analysis.model_data.observations import Covariate, Observations
from datamill.analysis.model_data.question import ModelData
from datamill.analysis.quantile.model import fit_quantiles

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


def simulate(case: Case, replications: int, seed: int) -> tuple[float, float | None, int]:
    """Return the share of intervals that hold the effect and the slope, and of how many that was."""
    rng = np.random.default_rng(seed)
    errors, n, held, held_slope, done = KINDS[case.kind], case.n, 0, 0, 0
    factor = Factor("a", ("low", "high"))
    for at in range(replications):
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
        fit = fit_quantiles(
            ModelData(observations, terms), [case.quantile], errors=case.method, replicates=DRAWS, seed=at
        ).fits[0]
        rows = {row.name: row.value for row in fit.coefficients[1:]}
        effect = next(value for name, value in rows.items() if name != "x")
        held += effect.low <= SHIFT / 2 <= effect.high
        done += 1
        if case.covariate:
            slope = SLOPE + errors.slope(case.quantile)
            held_slope += rows["x"].low <= slope <= rows["x"].high
    return held / done, held_slope / done if case.covariate else None, done


def list_cases() -> Iterator[Case]:
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


def main() -> None:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--method", default="")
    arguments = parser.parse_args()
    rows = []
    for case in list_cases():
        if arguments.method and case.method != arguments.method:
            continue
        started = time.perf_counter()
        effect, slope, done = simulate(case, arguments.replications, 1)
        levels = "half each" if case.share == 0.5 else f"{round(case.share * case.n)} against the rest"
        row = [
            case.method, case.kind, str(case.n), levels, f"{case.quantile:g}", f"{100 * effect:.1f}",
            "" if slope is None else f"{100 * slope:.1f}",
        ]  # fmt: skip
        rows.append(row)
        print(*row, done, f"{time.perf_counter() - started:.1f} s", sep="\t", flush=True)
    titles = ["method", "errors", "n", "levels", "quantile", "effect held (%)", "slope held (%)"]
    print("\n" + describe_machine() + f"; {arguments.replications} experiments a row\n")
    print(format_table(titles, rows))


if __name__ == "__main__":
    main()
