"""Intervals and p-values of quantile regression from inverted rank tests."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr, stdtrit

from datamill import _native
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.quantile.fit import QuantileProblem
from datamill.analysis.quantile.inference import LimitInference
from datamill.analysis.quantile.sandwich import estimate_nid_densities

#: Critical values between which a p-value is interpolated; beyond the last it is that one's.
_LADDER = np.concatenate([np.arange(0.05, 4, 0.15), np.arange(4, 8.5, 0.5)])


def infer_from_ranks(
    problem: QuantileProblem, quantile: float, coefficients: FloatArray, confidence: float
) -> tuple[LimitInference, int]:
    """Invert the rank tests of every coefficient, for errors of any spread (Koenker and Machado 1999).

    As R's `summary.rq(se = "rank", iid = FALSE)`, limits interpolated, Student's critical value. Returns
    also the number of observations whose density comes out as not positive.
    """
    matrix = problem.matrix
    densities, bad = estimate_nid_densities(problem, quantile)
    if bad >= problem.n:
        # Like observations do not differ: there is nothing to rank.
        none = np.full(coefficients.size, np.nan)
        return LimitInference(none, none, none), bad
    if matrix.factorial:
        densities = densities[matrix.cell_of_row]
    smallest = np.sqrt(np.finfo(np.float64).eps) * max(float(np.max(densities)), 1e-300)
    densities = np.maximum(densities, smallest)[None, :]
    df = problem.values.size - coefficients.size

    def invert(cutoff: float) -> tuple[FloatArray, FloatArray]:
        low, high = _native.invert_rank_tests(
            matrix.by_cell,
            matrix.cell_of_row,
            matrix.products,
            matrix.of_product,
            problem.values,
            np.array([quantile]),
            cutoff,
            densities,
        )
        return low[0], high[0]

    low, high = invert(float(-stdtrit(df, (1 - confidence) / 2)))
    # How far zero lies outside the interval at each critical value; it is on the rim where that changes sign.
    outside = np.array([_measure_outside(coefficients, *invert(float(cutoff))) for cutoff in _LADDER])
    critical = np.array([_cross(column) for column in outside.T])
    p_values = np.minimum(1.0, 2 * stdtr(df, -critical))
    return LimitInference(low, high, p_values), bad


def _measure_outside(coefficients: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    return np.asarray(np.where(coefficients > 0, low, -high), dtype=np.float64)


def _cross(outside: FloatArray) -> float:
    """Critical value at which zero comes to lie on the rim of the interval."""
    inside = np.flatnonzero(outside <= 0)
    if inside.size == 0:
        return float(_LADDER[-1])
    at = int(inside[0])
    if at == 0:
        return 0.0
    before, after = outside[at - 1], outside[at]
    if not np.isfinite(after):
        return float(_LADDER[at])
    return float(_LADDER[at - 1] + (_LADDER[at] - _LADDER[at - 1]) * before / (before - after))
