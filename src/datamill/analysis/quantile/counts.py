"""Errors of a factorial quantile model from counts: no density, no bandwidth, any distribution."""

from __future__ import annotations

import numpy as np

from datamill import _native
from datamill.analysis.model_data.cells import CellArray, FloatArray
from datamill.analysis.quantile.draws import SortedValues, draw_targets
from datamill.analysis.quantile.fit import QuantileProblem
from datamill.analysis.quantile.inference import DrawnInference

#: How near a count comes to none or all where what it asks for does not exist.
_EDGE = 0.25
#: Trials up to which each gets a weight of its own.
_FEW_GROUPS = 5000


def infer_from_counts(
    problem: QuantileProblem,
    ordered: SortedValues,
    quantile: float,
    coefficients: FloatArray,
    *,
    confidence: float,
    replicates: int,
    seed: int,
    trials: CellArray | None = None,
) -> DrawnInference:
    """Draw the coefficients (p) of a model without covariates from what is known of the counts.

    Of n independent observations of a cell, the number below its true quantile is binomial, whatever
    their distribution. Each draw of these numbers determines coefficients (Parzen, Wei and Ying
    1994); in a saturated model those of each cell's order statistics, so that with one cell this
    would be the exact distribution-free interval. Draws are moved so that their mean is the middle
    of the limits from below and above, which takes away most of the bias that skewed distributions
    give to a sum of many cells.

    `trials` (n) numbers the trials where these have several observations, which may resemble each
    other: then the counts vary as they do between trials, each trial with a random weight (a
    bootstrap of whole trials, of their counts), and intervals widen by Student's distribution.
    """
    counts = ordered.counts.astype(np.float64)
    rng = np.random.default_rng(seed)
    df = None
    if trials is None:
        targets = draw_targets(quantile, ordered.counts, replicates, rng)
    else:
        targets, groups = _draw_by_trial(problem, quantile, coefficients, replicates, rng, trials)
        df = np.full(coefficients.size, float(groups - coefficients.size))
    matrix = problem.matrix.by_cell
    if matrix.shape[0] == matrix.shape[1]:
        drawn = ordered.interpolate(targets + 0.5)
        middle = np.clip(quantile * counts + 0.5, 1, counts)[:, None]
        centre = ordered.interpolate(middle)[:, 0]
        inverse = np.linalg.inv(matrix)
        draws = (inverse @ (drawn - np.mean(drawn, axis=1, keepdims=True) + centre[:, None])).T
    else:
        draws = _solve(problem, quantile, targets, counts)
        draws += _find_middle(problem, quantile, coefficients) - np.mean(draws, axis=0)
    return DrawnInference(draws, confidence, df)


def _draw_by_trial(
    problem: QuantileProblem,
    quantile: float,
    coefficients: FloatArray,
    replicates: int,
    rng: np.random.Generator,
    trials: CellArray,
) -> tuple[FloatArray, int]:
    """Numbers below the quantile (K × R) as they vary between trials, and the number of these."""
    cell_of_row, counts = problem.matrix.cell_of_row, problem.counts
    fitted = problem.fit_values(coefficients[None, :])[0]
    excess = (problem.values <= fitted[cell_of_row]) - quantile
    _, of_row = np.unique(trials, return_inverse=True)
    groups = int(of_row.max()) + 1
    table = np.bincount(of_row * counts.size + cell_of_row, excess, minlength=groups * counts.size).reshape(
        groups, counts.size
    )
    p = coefficients.size
    # What p coefficients take from the spread of so few trials.
    scale = np.sqrt((groups + p) / (groups - p))
    targets = rng.random((counts.size, replicates)) - 0.5 + quantile * counts[:, None]
    if groups <= _FEW_GROUPS:
        targets += scale * ((rng.standard_exponential((replicates, groups)) - 1) @ table).T
    else:
        # The sum over so many trials is normal, whatever their weights.
        values, vectors = np.linalg.eigh(table.T @ table)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        targets += scale * (root @ rng.standard_normal((counts.size, replicates)))
    return np.clip(targets, 0.0, counts[:, None]), groups


def _solve(problem: QuantileProblem, quantile: float, targets: FloatArray, counts: FloatArray) -> FloatArray:
    """Coefficients (R × p) for drawn counts (K × R); at the edge where no coefficients have them."""
    matrix = problem.matrix

    def solve(wanted: FloatArray) -> FloatArray:
        return _native.fit_cell_targets(
            matrix.cell_of_row, problem.values, matrix.by_cell, quantile, np.ascontiguousarray(wanted.T)
        )

    draws = solve(targets)
    missing = np.flatnonzero(np.isnan(draws[:, 0]))
    if missing.size:
        draws[missing] = solve(np.clip(targets[:, missing], _EDGE, counts[:, None] - _EDGE))
    return draws


def _find_middle(problem: QuantileProblem, quantile: float, coefficients: FloatArray) -> FloatArray:
    mirrored = QuantileProblem(problem.matrix, -problem.values)
    above = -mirrored.solve([1 - quantile]).coefficients[0]
    return np.asarray((coefficients + above) / 2, dtype=np.float64)
