"""Covariances of quantile regression by formula: nid, kernel and iid, as R's `summary.rq` has them."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from datamill import _native
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.quantile.fit import QuantileProblem

#: Share of the usual distance of two fits below which a distance counts as none; R has 1.5e-8 of the unit.
_ROUNDING = 1.5e-8
#: Slopes of so many times what rounding makes of a residual are none: residuals tie.
_TIED = 10.0


def choose_bandwidth(quantile: float, n: int, *, rule: str = "hall-sheather", alpha: float = 0.05) -> float:
    """Half width of the window of quantiles from which a density is estimated.

    `hall-sheather` (1988, with Studentised intervals at alpha in view) or `bofinger` (1975);
    halved until the window lies between 0 and 1, as R does.
    """
    x = float(ndtri(quantile))
    f = float(_find_normal_density(x))
    if rule == "hall-sheather":
        width = n ** (-1 / 3) * float(-ndtri(alpha / 2)) ** (2 / 3)
        width *= (1.5 * f**2 / (2 * x**2 + 1)) ** (1 / 3)
    else:
        width = n ** (-1 / 5) * (4.5 * f**4 / (2 * x**2 + 1) ** 2) ** (1 / 5)
    while quantile - width < 0 or quantile + width > 1:
        width /= 2
    return float(width)


def estimate_nid_densities(
    problem: QuantileProblem, quantile: float, *, rule: str = "hall-sheather"
) -> tuple[FloatArray, int]:
    """Density at its quantile of each cell (K), or with covariates of each observation (n).

    The width of a window of quantiles over the distance of the fits at its ends (Hendricks and Koenker
    1992). Also returns for how many observations that is not positive and counts as zero.
    """
    width = choose_bandwidth(quantile, problem.n, rule=rule)
    found = problem.solve([quantile - width, quantile + width]).coefficients
    low, high = problem.fit_values(found)
    spread = high - low
    # Fits through the same observation, or through observations that tie, differ there by rounding alone.
    nothing = max(problem.measure_rounding(own) for own in found)
    bad = spread <= max(_ROUNDING * float(np.median(np.abs(spread))), nothing)
    with np.errstate(divide="ignore", invalid="ignore"):
        densities = np.where(bad, 0.0, 2 * width / spread)
    return densities, int(np.sum(problem.counts[bad]))


def estimate_nid_covariance(
    problem: QuantileProblem, quantile: float, *, rule: str = "hall-sheather"
) -> tuple[FloatArray, int]:
    """Sandwich with the densities of `estimate_nid_densities` (Hendricks and Koenker 1992).

    Returns the covariance (p × p; NaN where the densities determine none), and the number of
    observations whose density comes out as not positive.
    """
    densities, bad = estimate_nid_densities(problem, quantile, rule=rule)
    return _sandwich(problem, quantile, densities * problem.counts), bad


def estimate_kernel_covariance(
    problem: QuantileProblem, quantile: float, coefficients: FloatArray, *, rule: str = "hall-sheather"
) -> FloatArray:
    """Sandwich with densities from the residuals' Gaussian kernel (Powell 1991), p × p."""
    residuals = _find_residuals(problem, coefficients)
    n = residuals.size
    width = choose_bandwidth(quantile, n, rule=rule)
    lower, upper = np.quantile(residuals, [0.25, 0.75])
    size = min(float(np.std(residuals, ddof=1)), float(upper - lower) / 1.34)
    bandwidth = float(ndtri(quantile + width) - ndtri(quantile - width)) * size
    if size <= problem.measure_rounding(coefficients):
        return np.full((coefficients.size, coefficients.size), np.nan)
    densities = np.asarray(_find_normal_density(residuals / bandwidth) / bandwidth, dtype=np.float64)
    if problem.matrix.factorial:
        cells = problem.counts.size
        densities = np.bincount(problem.matrix.cell_of_row, densities, cells).astype(np.float64)
    return _sandwich(problem, quantile, densities)


def estimate_iid_covariance(
    problem: QuantileProblem, quantile: float, coefficients: FloatArray, *, rule: str = "hall-sheather"
) -> FloatArray:
    """Covariance (p × p) if all errors had one distribution (Koenker and Bassett 1978).

    The sparsity is the slope of the residuals nearest to zero, by median regression on their rank.
    """
    residuals = _find_residuals(problem, coefficients)
    n, p = residuals.size, coefficients.size
    rounding = problem.measure_rounding(coefficients)
    if rounding > 0:
        # It must not decide which of residuals that tie come first.
        residuals = np.round(residuals / rounding) * rounding
    zeros = int(np.sum(residuals == 0))
    count = max(p + 1, int(np.ceil(n * choose_bandwidth(quantile, n, rule=rule))))
    near = np.argsort(np.abs(residuals), kind="stable")[zeros : zeros + count + 1]
    ordered = np.sort(residuals[near])
    if ordered.size < 2:
        return np.full((p, p), np.nan)
    ranks = np.arange(zeros + 1, zeros + 1 + ordered.size) / (n - p)
    slope = _native.fit_general(
        np.ones((1, 2)),
        np.zeros(ordered.size, dtype=np.uint32),
        ranks[None, :],
        np.array([-1, 0]),
        ordered,
        np.array([0.5]),
    )[0][0, 1]
    if abs(slope) <= _TIED * rounding:
        slope = 0.0
    inverse = _invert(problem.cross(problem.counts))
    return np.asarray(slope**2 * quantile * (1 - quantile) * inverse, dtype=np.float64)


def _find_normal_density(x: FloatArray | float) -> FloatArray:
    return np.asarray(np.exp(-0.5 * np.square(x)) / math.sqrt(2 * math.pi), dtype=np.float64)


def _find_residuals(problem: QuantileProblem, coefficients: FloatArray) -> FloatArray:
    fitted = problem.fit_values(coefficients[None, :])[0]
    if problem.matrix.factorial:
        fitted = fitted[problem.matrix.cell_of_row]
    return np.asarray(problem.values - fitted, dtype=np.float64)


def _sandwich(problem: QuantileProblem, quantile: float, densities: FloatArray) -> FloatArray:
    """Covariance from the densities, summed by cell where there are cells alone."""
    inverse = _invert(problem.cross(densities))
    return np.asarray(quantile * (1 - quantile) * inverse @ problem.cross(problem.counts) @ inverse)


def _invert(matrix: FloatArray) -> FloatArray:
    """Inverse of a positive definite matrix; NaN throughout when it is not."""
    lengths = np.sqrt(np.diag(matrix))
    if not np.all(lengths > 0):
        return np.full_like(matrix, np.nan)
    scaled = matrix / np.outer(lengths, lengths)
    values, vectors = np.linalg.eigh(scaled)
    if values[0] <= 1e-13 * values[-1]:
        return np.full_like(matrix, np.nan)
    inverse = (vectors / values) @ vectors.T
    return np.asarray(inverse / np.outer(lengths, lengths), dtype=np.float64)
