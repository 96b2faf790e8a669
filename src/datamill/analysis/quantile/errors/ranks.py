"""Intervals and p-values of quantile regression from inverted rank tests."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtr, stdtrit

from datamill import _native
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.quantile.errors.sandwich import estimate_nid_densities
from datamill.analysis.quantile.fit import QuantileProblem
from datamill.analysis.quantile.inference import LimitInference

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
    exact = restore_decimals(problem.values, problem.resolution)

    def invert(cutoff: float) -> tuple[FloatArray, FloatArray]:
        low, high = _native.invert_rank_tests(
            matrix.by_cell,
            matrix.cell_of_row,
            matrix.products,
            matrix.of_product,
            exact,
            np.array([quantile]),
            cutoff,
            densities,
        )
        return snap(low[0]), snap(high[0])

    # Zero but for rounding is zero, so that it is in an interval that ends there.
    rounding = problem.measure_rounding(coefficients) / matrix.sizes

    def snap(values: FloatArray) -> FloatArray:
        return np.where(np.abs(values) <= rounding, 0.0, values)

    coefficients = snap(coefficients)
    level = float(-stdtrit(df, (1 - confidence) / 2))
    low, high = invert(level)
    # How far zero lies outside the interval at each critical value; it is on the rim where that changes sign.
    outside = np.array([_measure_outside(coefficients, *invert(float(cutoff))) for cutoff in _LADDER])
    of_level = _measure_outside(coefficients, low, high)
    critical = np.array(
        [_cross(column, level, float(own)) for column, own in zip(outside.T, of_level, strict=True)]
    )
    p_values = np.minimum(1.0, 2 * stdtr(df, -critical))
    return LimitInference(low, high, p_values), bad


def restore_decimals(values: FloatArray, resolution: float) -> FloatArray:
    """Deviations (n) of decimals from a large origin, as the decimals that they are but for `resolution`.

    1000000.1 - 1000000 is not 0.1, so that deviations miss ties by rounding. Those that are no decimals
    coarser than rounding come back as they are.
    """
    largest = float(np.max(np.abs(values)))
    if resolution == 0 or largest == 0:
        return values
    places = -math.floor(math.log10(largest))
    while 10.0**-places > 100 * resolution:
        rounded = np.round(values, places)
        if np.all(np.abs(rounded - values) <= resolution):
            return rounded
        places += 1
    return values


def _measure_outside(coefficients: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    return np.asarray(np.where(coefficients > 0, low, -high), dtype=np.float64)


def _cross(outside: FloatArray, level: float, of_level: float) -> float:
    """Critical value at which zero comes to lie on the rim of the interval.

    It is looked for beyond the critical value `level` of the interval where zero lies outside that by
    `of_level`, else before it: steps of the tests and interpolation must not set p against the interval.
    """
    if of_level > 0:
        beyond = level < _LADDER
        cutoffs = np.concatenate([[level], _LADDER[beyond]])
        outside = np.concatenate([[of_level], outside[beyond]])
    else:
        before_it = level > _LADDER
        cutoffs = np.concatenate([_LADDER[before_it], [level]])
        outside = np.concatenate([outside[before_it], [of_level]])
    inside = np.flatnonzero(outside <= 0)
    if inside.size == 0:
        return float(cutoffs[-1])
    at = int(inside[0])
    if at == 0:
        return 0.0
    before, after = outside[at - 1], outside[at]
    if not np.isfinite(after):
        return float(cutoffs[at])
    return float(cutoffs[at - 1] + (cutoffs[at] - cutoffs[at - 1]) * before / (before - after))
