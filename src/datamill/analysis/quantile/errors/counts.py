"""Errors of a factorial quantile model from counts: no density, no bandwidth, any distribution."""

from __future__ import annotations

import numpy as np

from datamill import _native
from datamill.analysis.model_data.cells import CellArray, FloatArray
from datamill.analysis.quantile.errors.draws import SortedValues, draw_targets
from datamill.analysis.quantile.errors.smooth import measure_window, smooth_counts, solve_smooth
from datamill.analysis.quantile.fit import QuantileProblem
from datamill.analysis.quantile.inference import DrawnInference

#: How near a count comes to none or all where what it asks for does not exist.
_EDGE = 0.25
#: Up to this many (design points × coefficients) each draw is solved for exactly, by a walk of milliseconds.
_MOST_WALKED = 8192
#: Share of the draws between equal values from which on a cell counts as tied.
_TIED = 0.02
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
    give to a sum of many cells; but not where values tie, as draws that tie at zero have to stay
    there. In models too large for an exact solution of each draw, the counts
    are smoothed (`solve_smooth`), which makes intervals a few hundredths narrower.

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
        excess = count_excess(problem, quantile, coefficients, trials)
        targets = _draw_by_trial(problem, quantile, excess, replicates, rng)
        df = count_freedom(problem, quantile, excess)
    matrix = problem.matrix.by_cell
    if matrix.shape[0] == matrix.shape[1]:
        drawn = ordered.interpolate(targets + 0.5)
        middle = np.clip(quantile * counts + 0.5, 1, counts)[:, None]
        centre = ordered.interpolate(middle)[:, 0]
        inverse = np.linalg.inv(matrix)
        shift = centre - np.mean(drawn, axis=1)
        shift[ordered.share_ties(targets + 0.5) > _TIED] = 0.0
        draws = (inverse @ (drawn + shift[:, None])).T
    else:
        if is_walked(problem):
            draws = _solve(problem, quantile, targets, counts)
        else:
            draws = solve_smooth(problem, smooth_counts(problem, quantile, coefficients), targets)
        walked = is_walked(problem)
        if not walked or np.mean(ordered.share_ties(targets + 0.5)) <= _TIED:
            draws += _find_middle(problem, quantile, coefficients) - np.mean(draws, axis=0)
    return DrawnInference(draws, confidence, df, resolution=problem.resolution)


def is_walked(problem: QuantileProblem) -> bool:
    """Whether drawn counts are solved for exactly; where that takes too long, they are smoothed."""
    return problem.matrix.by_cell.size <= _MOST_WALKED


def count_excess(
    problem: QuantileProblem, quantile: float, coefficients: FloatArray, trials: CellArray
) -> FloatArray:
    """How many more observations of each trial and cell (G × K) lie below the fit than the quantile asks."""
    cell_of_row, counts = problem.matrix.cell_of_row, problem.counts
    fitted = problem.fit_values(coefficients[None, :])[0]
    # Where many values tie at the fit, rounding would decide whether all of them lie below it.
    fitted = fitted + problem.measure_rounding(coefficients)
    excess = (problem.values <= fitted[cell_of_row]) - quantile
    _, of_row = np.unique(trials, return_inverse=True)
    groups = int(of_row.max()) + 1
    table = np.bincount(of_row * counts.size + cell_of_row, excess, minlength=groups * counts.size)
    return np.asarray(table.reshape(groups, counts.size), dtype=np.float64)


def count_freedom(problem: QuantileProblem, quantile: float, excess: FloatArray) -> FloatArray:
    """Degrees of freedom of each coefficient (p) of errors from what trials add to it (Satterthwaite 1946).

    The sum of their squares varies by their fourth powers: where a few trials have most of the tail it
    is known as badly as from so few.
    """
    matrix = problem.matrix.by_cell
    groups, p = excess.shape[0], matrix.shape[1]
    width, share = measure_window(problem, quantile)
    # What each trial adds to each coefficient (G × p), to first order.
    added = excess @ np.linalg.solve(problem.cross(problem.counts * share / (2 * width)), matrix.T).T
    squares = added**2
    total = np.sum(squares, axis=0)
    varying = np.sum(squares**2, axis=0) - total**2 / groups
    with np.errstate(divide="ignore", invalid="ignore"):
        df = 2 * total**2 / varying
    return np.asarray(np.clip(np.nan_to_num(df, nan=np.inf), 1.0, groups - p), dtype=np.float64)


def _draw_by_trial(
    problem: QuantileProblem, quantile: float, table: FloatArray, replicates: int, rng: np.random.Generator
) -> FloatArray:
    """Numbers below the quantile (K × R) as they vary between trials."""
    counts, groups, p = problem.counts, table.shape[0], problem.matrix.by_cell.shape[1]
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
    return np.clip(targets, 0.0, counts[:, None])


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
