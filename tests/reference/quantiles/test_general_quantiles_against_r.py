"""Quantile regression on any matrix against R's quantreg and against HiGHS."""

import numpy as np
import pytest
from numpy.typing import NDArray
from reference.r_answers import ask_r
from scipy.optimize import linprog
from scipy.stats import norm
from scipy.stats import t as t_distribution

from datamill import _native

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

FITS = """
suppressMessages(library(quantreg))
d <- as.matrix(read.table(file("stdin")))
p <- ncol(d) - 1
x <- d[, 1:p]
y <- d[, p + 1]
for (tau in as.numeric(commandArgs(TRUE))) {
  for (method in c("br", "fn")) {
    b <- coef(suppressWarnings(rq.fit(x, y, tau = tau, method = method)))
    r <- y - x %*% b
    cat(method, sprintf("%.17g", c(tau, sum(r * (tau - (r < 0))), b)), "\\n")
  }
}
"""

LIMITS = """
suppressMessages(library(quantreg))
d <- as.matrix(read.table(file("stdin")))
p <- ncol(d) - 1
for (tau in as.numeric(commandArgs(TRUE))) for (iid in c(TRUE, FALSE)) for (alpha in c(0.1, 0.05)) {
  b <- suppressWarnings(rq.fit.br(d[, 1:p], d[, p + 1], tau = tau, ci = TRUE, iid = iid, alpha = alpha))
  cat(as.integer(iid), sprintf("%.17g", c(tau, alpha, coef(b)[, 2], coef(b)[, 3])), "\\n")
}
"""


def ask_quantreg(script: str, table: NDArray[np.float64], quantiles: tuple[float, ...]) -> list[list[str]]:
    rows = "\n".join(" ".join(repr(float(value)) for value in row) for row in table)
    answer = ask_r(script, *map(str, quantiles), text=rows, packages=("quantreg",))
    return [line.split() for line in answer.splitlines()]


def load_engel() -> NDArray[np.float64]:
    """Food expenditure on household income (Koenker and Bassett 1982), which quantreg brings."""
    script = "library(quantreg); data(engel); write.table(engel, col.names = FALSE, row.names = FALSE)"
    answer = ask_r(script, packages=("quantreg",))
    table = np.array([line.split() for line in answer.splitlines()], dtype=float)
    return np.column_stack([np.ones(len(table)), table])


def make_table(seed: int, rows: int) -> NDArray[np.float64]:
    """Columns of a model with a factor, two covariates of very different size, and errors that widen."""
    rng = np.random.default_rng(seed)
    size, level = rng.exponential(1e6, rows), rng.integers(0, 2, rows) * 2.0 - 1
    slow = rng.normal(size=rows)
    values = 50 + 3 * level + 2e-5 * size + slow + (1 + 1e-6 * size) * rng.standard_t(3, rows)
    return np.column_stack([np.ones(rows), level, size, slow, values])


def as_dense(
    matrix: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]]:
    rows, columns = matrix.shape
    return (
        np.ascontiguousarray(matrix),
        np.arange(rows, dtype=np.uint32),
        np.zeros((0, rows)),
        np.full(columns, -1, dtype=np.int64),
    )


def compare_fits(table: NDArray[np.float64]) -> None:
    matrix, values = table[:, :-1], np.ascontiguousarray(table[:, -1])
    fits = _native.fit_general(*as_dense(matrix), values, np.array(QUANTILES))
    coefficients, objective, certified, not_unique, _ = fits
    assert certified.all()
    compared = 0
    for method, *numbers in ask_quantreg(FITS, table, QUANTILES):
        tau, loss, *theirs = map(float, numbers)
        t = QUANTILES.index(tau)
        assert objective[t] <= loss * (1 + 1e-12)
        assert objective[t] == pytest.approx(loss, rel=1e-6 if method == "fn" else 1e-10)
        if not not_unique[t]:
            assert coefficients[t] == pytest.approx(theirs, rel=1e-4 if method == "fn" else 1e-8)
            compared += 1
    assert compared > 0


def test_the_engel_data_have_the_coefficients_of_quantreg() -> None:
    compare_fits(load_engel())


def test_badly_scaled_covariates_have_the_coefficients_of_quantreg() -> None:
    compare_fits(make_table(1, 3000))


def find_bandwidth(tau: float, rows: int) -> float:
    """Hall and Sheather's bandwidth at 95%, as quantreg takes it."""
    place = norm.ppf(tau)
    shape = 1.5 * norm.pdf(place) ** 2 / (2 * place**2 + 1)
    return float(rows ** (-1 / 3) * norm.ppf(0.975) ** (2 / 3) * shape ** (1 / 3))


def estimate_densities(
    matrix: NDArray[np.float64], values: NDArray[np.float64], tau: float
) -> NDArray[np.float64]:
    """Densities at the quantile by Hendricks and Koenker's difference quotient, as quantreg bounds them."""
    width, least = find_bandwidth(tau, len(values)), np.finfo(float).eps ** (2 / 3)
    near = np.array([tau - width, tau + width])
    low, high = _native.fit_general(*as_dense(matrix), values, near)[0]
    return np.maximum(least, 2 * width / (matrix @ (high - low) - least))


def compare_limits(table: NDArray[np.float64], quantiles: tuple[float, ...]) -> None:
    matrix, values = table[:, :-1], np.ascontiguousarray(table[:, -1])
    rows, columns = matrix.shape
    answers = ask_quantreg(LIMITS, table, quantiles)
    assert len(answers) == 4 * len(quantiles)
    for iid, *numbers in answers:
        tau, alpha, *limits = map(float, numbers)
        densities = None if iid == "1" else estimate_densities(matrix, values, tau)[None]
        cutoff = float(t_distribution.isf(alpha / 2, rows - columns))
        low, high = _native.invert_rank_tests(*as_dense(matrix), values, np.array([tau]), cutoff, densities)
        # R says the largest double where we say infinity.
        ours = np.clip(np.concatenate([low[0], high[0]]), -np.finfo(float).max, np.finfo(float).max)
        assert ours == pytest.approx(limits, rel=1e-7)


def test_the_engel_data_have_the_rank_intervals_of_quantreg() -> None:
    compare_limits(load_engel(), (0.1, 0.25, 0.5, 0.75, 0.9))


def test_badly_scaled_covariates_have_the_rank_intervals_of_quantreg() -> None:
    # Not the median: with a two-level column its rank statistic stays the same over several bases, and which
    # of them R interpolates from depends on the path of its simplex.
    compare_limits(make_table(2, 600), (0.1, 0.4, 0.9))


@pytest.mark.parametrize("kind", ["continuous", "whole numbers", "weights", "tiny values", "few rows"])
def test_the_objective_is_that_of_highs(kind: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(12):
        columns = int(rng.integers(2, 8))
        rows = columns + 2 if kind == "few rows" else int(rng.integers(50, 400))
        matrix = np.column_stack([np.ones(rows), rng.normal(size=(rows, columns - 1))])
        values = matrix.sum(axis=1) + rng.standard_t(2, rows)
        weights = np.ones(rows)
        unit = 1.0
        if kind == "whole numbers":
            matrix, values = np.round(2 * matrix), np.round(values)
        elif kind == "weights":
            weights = rng.integers(0, 4, rows).astype(float)
        elif kind == "tiny values":
            unit = 1e-9
        if np.linalg.matrix_rank(matrix[weights > 0]) < columns:
            continue
        quantiles = np.array([0.01, 0.3, 0.5, 0.99])
        fits = _native.fit_general(*as_dense(matrix), unit * values, quantiles, weights)
        for tau, coefficients, objective, certified in zip(quantiles, *fits[:3], strict=True):
            # The dual: rank scores between 0 and the weights.
            answer = linprog(
                -values,
                A_eq=matrix.T,
                b_eq=(1 - tau) * matrix.T @ weights,
                bounds=np.column_stack([np.zeros(rows), weights]),
                method="highs",
            )
            least = unit * (-answer.fun - (1 - tau) * weights @ values)
            residuals = unit * values - matrix @ coefficients
            loss = np.sum(weights * residuals * (tau - (residuals < 0)))
            assert certified
            assert objective == pytest.approx(loss, rel=1e-10, abs=1e-12 * unit * rows)
            assert loss == pytest.approx(least, rel=1e-10, abs=1e-11 * unit * rows)
