"""Coefficients for drawn counts where an exact solution of each draw would take minutes: counts smoothed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from datamill.analysis.model_data.cells import CellArray, FloatArray
from datamill.analysis.quantile.fit import QuantileProblem

#: Half widths of the window to both sides of the fit that counts are tabulated for, and points in one.
_REACH, _POINTS = 32, 4
#: Half a window in errors of the fit: wide enough to be smooth, too narrow to change the errors much.
_SHARE = 0.35
#: A cell's window is at least this share of the usual one.
_NARROWEST = 0.05
#: Steps, and the share of a draw's distance from the fit that its last step may have.
_MOST_STEPS, _NEAR = 60, 0.01
#: The longest and shortest step compared with Newton's.
_STEPS = (0.1, 1.5)
#: Largest number of (design points × draws) solved together.
_TOGETHER = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class SmoothCounts:
    """Numbers of values below a fit's neighbourhood, for K cells, as straight lines between points.

    `table[c, j]` is the number below `centre[c] + (j / 4 - 32) * width[c]`, averaged over ± `width[c]`;
    `density[c]` is how fast it rises with the fitted value in the neighbourhood.
    """

    centre: FloatArray
    width: FloatArray
    density: FloatArray
    table: FloatArray

    def count(self, away: FloatArray) -> FloatArray:
        """Numbers below the centre plus `away` (K × R)."""
        points = self.table.shape[1]
        place = away * (_POINTS / self.width)[:, None]
        place += _REACH * _POINTS
        np.clip(place, 0.0, points - 1.001, out=place)
        low = place.astype(np.int64)
        place -= low
        low += (np.arange(self.centre.size) * points)[:, None]
        flat = self.table.ravel()
        below = flat.take(low)
        low += 1
        above = flat.take(low)
        above -= below
        above *= place
        above += below
        return above


def measure_window(problem: QuantileProblem, quantile: float) -> tuple[FloatArray, float]:
    """Half the change of fitted values (K) near the quantile, and the share of observations within.

    The window is a share of the error of p coefficients from n observations, on the logit scale, so that
    it stays between 0 and 1.
    """
    p = problem.matrix.by_cell.shape[1]
    logit = math.log(quantile / (1 - quantile))
    error = min(2.0, math.sqrt(p / (problem.n * quantile * (1 - quantile))))
    low, high = (1 / (1 + math.exp(-(logit + side * error))) for side in (-1, 1))
    found = problem.solve([low, high]).coefficients
    apart = np.diff(problem.fit_values(found), axis=0)[0]
    rounding = max(problem.measure_rounding(own) for own in found)
    width = _SHARE * np.where(np.abs(apart) <= rounding, 0.0, apart) / 2
    usual = float(np.mean(np.abs(width)))
    least = usual if usual > 0 else 1e-9 * float(np.std(problem.values))
    return np.maximum(width, _NARROWEST * least), _SHARE * (high - low)


def smooth_counts(problem: QuantileProblem, quantile: float, coefficients: FloatArray) -> SmoothCounts:
    """Tabulate the counts about a fit."""
    matrix = problem.matrix
    centre = problem.fit_values(coefficients[None, :])[0]
    width, share = measure_window(problem, quantile)
    table = tabulate_counts(matrix.cell_of_row, problem.values, centre, width)
    return SmoothCounts(centre, width, problem.counts * share / (2 * width), table)


def tabulate_counts(
    cell_of_row: CellArray, values: FloatArray, centre: FloatArray, width: FloatArray
) -> FloatArray:
    """Count what lies below points about `centre`, averaged over ± `width` (K × points)."""
    bins = 2 * (_REACH + 1) * _POINTS
    place = (values - centre[cell_of_row]) * (_POINTS / width)[cell_of_row] + (_REACH + 1) * _POINTS
    # The first bin has all that is below, the last all that is above.
    bin_of_row = np.clip(np.floor(place), -1, bins).astype(np.int64) + 1
    size = bins + 2
    counted = np.bincount(cell_of_row.astype(np.int64) * size + bin_of_row, minlength=centre.size * size)
    below = np.cumsum(counted.reshape(centre.size, size), axis=1)[:, :-1].astype(np.float64)
    summed = np.zeros_like(below)
    np.cumsum((below[:, 1:] + below[:, :-1]) / 2, axis=1, out=summed[:, 1:])
    return np.ascontiguousarray((summed[:, 2 * _POINTS :] - summed[:, : -2 * _POINTS]) / (2 * _POINTS))


def solve_smooth(problem: QuantileProblem, counts: SmoothCounts, targets: FloatArray) -> FloatArray:
    """What must be added to the fit's coefficients (R × p) to have drawn counts (K × R) below it.

    Zeros of the sum of `x_c (L_c - t_c)`, the smoothed L convex functions' slopes, by Newton's method
    with the densities of the fit and step lengths of Barzilai and Borwein (1988).
    """
    size = max(1, _TOGETHER // counts.centre.size)
    parts = [targets[:, start : start + size] for start in range(0, targets.shape[1], size)]
    return np.hstack([_solve(problem, counts, part) for part in parts]).T


def _solve(problem: QuantileProblem, counts: SmoothCounts, targets: FloatArray) -> FloatArray:
    matrix = problem.matrix.by_cell
    hessian = problem.cross(counts.density)
    newton = np.linalg.solve(hessian, matrix.T)

    def measure(steps: FloatArray) -> FloatArray:
        return np.asarray(np.sum(steps * (hessian @ steps), axis=0), dtype=np.float64)

    best = np.zeros((matrix.shape[1], targets.shape[1]))
    # Draws that are not there yet, and where these stand.
    left, away = np.arange(targets.shape[1]), best
    step = newton @ (counts.count(np.zeros((counts.centre.size, 1))) - targets)
    length, least = np.ones(left.size), np.full(left.size, np.inf)
    near = _NEAR**2 * measure(step)
    for _ in range(_MOST_STEPS):
        moved = -length * step
        away = away + moved
        later = newton @ (counts.count(matrix @ away) - targets[:, left])
        size = measure(later)
        better = size < least
        best[:, left[better]] = away[:, better]
        least = np.minimum(size, least)
        reached = hessian @ moved
        curved = np.sum(reached * (later - step), axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            length = np.sum(reached * moved, axis=0) / curved
        length = np.clip(np.nan_to_num(length, nan=1.0, posinf=_STEPS[1]), *_STEPS)
        far = size > near
        if not far.any():
            break
        left, away, step = left[far], away[:, far], later[:, far]
        length, least, near = length[far], least[far], near[far]
    return best
