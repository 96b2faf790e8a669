"""The cell kernel of quantile regression against HiGHS' linear programs and R's quantreg."""

import json
from itertools import product

import numpy as np
import pytest
from reference.r_answers import ask_r
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, eye, hstack

from datamill._native import fit_cells

QUANTILES = [0.1, 0.3, 0.5, 0.7, 0.9, 0.99]
#: Three factors of two levels with all interactions of two.
DESIGN = np.array(
    [[1, a, b, c, a * b, a * c, b * c] for a, b, c in product((-1.0, 1.0), repeat=3)], dtype=np.float64
)

SCRIPT = """
suppressPackageStartupMessages(library(quantreg))
d <- as.matrix(read.csv(file("stdin"), header = FALSE))
p <- ncol(d) - 1
for (tau in c(0.1, 0.3, 0.5, 0.7, 0.9, 0.99)) {
  f <- suppressWarnings(rq.fit.br(d[, 1:p], d[, p + 1], tau))
  u <- f$residuals
  cat(sprintf("%.17g", c(sum(u * (tau - (u < 0))), f$coefficients)), "\\n")
}
"""


def draw(shape: str, n: int = 240) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(sum(map(ord, shape)))
    cells = np.concatenate([np.arange(8), rng.integers(0, 8, n - 8)]).astype(np.uint32)
    if shape == "balanced":
        cells = np.tile(np.arange(8, dtype=np.uint32), n // 8)
    values = np.exp(0.3 * rng.normal(size=n) + 0.2 * (cells % 3))
    if shape == "ties":
        values = np.floor(values * 3)
    if shape == "unbalanced":
        cells[50:] = 3
    if shape == "heavy":
        values = rng.standard_cauchy(n)
    return cells, values


def measure_loss(residuals: np.ndarray, tau: float) -> float:
    return float(np.sum(residuals * (tau - (residuals < 0))))


def solve_program(matrix: np.ndarray, values: np.ndarray, tau: float) -> np.ndarray:
    n, p = matrix.shape
    scale = float(np.median(np.abs(values)))
    answer = linprog(
        np.concatenate([np.zeros(p), np.full(n, tau), np.full(n, 1 - tau)]),
        A_eq=hstack([csr_matrix(matrix), eye(n), -eye(n)]).tocsc(),
        b_eq=values / scale,
        bounds=[(None, None)] * p + [(0, None)] * (2 * n),
        method="highs",
    )
    return np.asarray(answer.x[:p]) * scale


@pytest.mark.parametrize("shape", ["balanced", "ties", "unbalanced", "heavy"])
def test_the_objective_is_that_of_a_linear_program(shape: str) -> None:
    cells, values = draw(shape)
    fit = fit_cells(cells, values, DESIGN, QUANTILES)
    assert fit.certified.all()
    matrix = DESIGN[cells]
    for row, tau in enumerate(QUANTILES):
        theirs = solve_program(matrix, values, tau)
        loss = measure_loss(values - matrix @ theirs, tau)
        ours = measure_loss(values - matrix @ fit.coefficients[row], tau)
        assert ours == pytest.approx(loss, rel=1e-10)
        assert fit.objective[row] == pytest.approx(ours, rel=1e-10)
        if fit.unique[row]:
            assert fit.coefficients[row] == pytest.approx(theirs, abs=1e-7 * np.abs(values).max())


def test_some_solutions_are_unique_and_some_are_not() -> None:
    unbalanced = fit_cells(*draw("unbalanced"), DESIGN, QUANTILES)
    balanced = fit_cells(*draw("balanced"), DESIGN, QUANTILES)
    assert unbalanced.unique.any()
    assert not balanced.unique.all()


@pytest.mark.parametrize("shape", ["balanced", "ties", "unbalanced", "heavy"])
def test_the_objective_is_that_of_rs_simplex(shape: str) -> None:
    cells, values = draw(shape)
    matrix = DESIGN[cells]
    table = "\n".join(",".join(map(repr, row)) for row in np.column_stack([matrix, values]).tolist())
    answer = ask_r(SCRIPT, text=table, packages=("quantreg",))
    theirs = [json.loads("[" + ",".join(line.split()) + "]") for line in answer.splitlines()]
    fit = fit_cells(cells, values, DESIGN, QUANTILES)
    for row in range(len(QUANTILES)):
        assert fit.objective[row] == pytest.approx(theirs[row][0], rel=1e-10)
        if fit.unique[row]:
            assert fit.coefficients[row] == pytest.approx(theirs[row][1:], rel=1e-9, abs=1e-9)
