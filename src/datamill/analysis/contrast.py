"""A planned contrast of cell means, with variances that nothing forces to be equal."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as t_distribution

from datamill.analysis.cells import Cells, FloatArray, IntArray
from datamill.analysis.records import Interval


@dataclass(frozen=True, slots=True)
class PooledError:
    """Error mean square of a model and its degrees of freedom, for cells without replicates."""

    mean_sq: float
    df: int


@dataclass(frozen=True, slots=True, eq=False)
class CellErrors:
    """Variance of one observation, by groups of cells that share one.

    `group` (K) is each cell's group; `mean_sq` and `df` (G) are the groups' variances and their
    degrees of freedom.
    """

    group: IntArray
    mean_sq: FloatArray
    df: FloatArray


def use_own_errors(cells: Cells) -> CellErrors:
    """Each cell's own variance; one of a single observation has none and must not be used."""
    df = (cells.counts - 1).astype(np.float64)
    # Spread that rounding alone explains is no spread: counting it would invent degrees of freedom.
    within = np.where(cells.within_ss <= cells.rounding_ss, 0.0, cells.within_ss)
    mean_sq = np.divide(within, df, out=np.full(df.size, np.nan), where=df > 0)
    return CellErrors(np.arange(df.size), mean_sq, df)


def use_pooled_errors(group: IntArray, errors: tuple[PooledError, ...]) -> CellErrors:
    """One variance for each group of cells; `group` (K) indexes `errors`."""
    return CellErrors(
        group,
        np.array([error.mean_sq for error in errors]),
        np.array([float(error.df) for error in errors]),
    )


@dataclass(frozen=True, slots=True)
class Contrast:
    """Estimate, variance and degrees of freedom of a weighted sum of cell means."""

    estimate: float
    variance: float
    df: float


def estimate_contrast(cells: Cells, weights: FloatArray, errors: CellErrors) -> Contrast:
    """Sum of weights × cell means, with Welch–Satterthwaite degrees of freedom.

    `weights` has one entry a cell (K); cells of weight zero do not count. Source: Satterthwaite
    1946; Welch 1947.
    """
    used = weights != 0
    estimate = float(np.sum(weights[used] * cells.means[used]))
    total = float(np.sum(weights[used]))
    if abs(total) > 1e-12:
        estimate += cells.origin * total
    group = errors.group[used]
    sizes = np.bincount(group, weights=weights[used] ** 2 / cells.counts[used], minlength=errors.df.size)
    in_play = sizes > 0
    parts, df = sizes[in_play] * errors.mean_sq[in_play], errors.df[in_play]
    variance = float(np.sum(parts))
    if variance == 0:
        return Contrast(estimate, 0.0, float(np.sum(df)))
    # Shares, not squares of variances, so that no unit makes this under- or overflow.
    return Contrast(estimate, variance, 1.0 / float(np.sum((parts / variance) ** 2 / df)))


def has_replicates(cells: Cells, used: FloatArray | None = None) -> bool:
    """Whether every cell (of those with weight) has at least two observations."""
    counts = cells.counts if used is None else cells.counts[used != 0]
    return bool(counts.size) and bool(np.all(counts >= 2))


def bound_contrast(contrast: Contrast, confidence: float) -> Interval:
    """Student's interval of a contrast."""
    reach = float(t_distribution.isf((1 - confidence) / 2, contrast.df)) * math.sqrt(contrast.variance)
    return Interval(contrast.estimate, contrast.estimate - reach, contrast.estimate + reach)
