"""A planned contrast of cell means, with variances that nothing forces to be equal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import stdtr, stdtrit

from datamill.analysis.contrasts.fieller import bound_ratio
from datamill.analysis.contrasts.satterthwaite import combine_freedom
from datamill.analysis.contrasts.shared_builds import SharedBuilds, gather_shared_builds
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import Cells, FloatArray, IntArray

#: What a reader must know where like observations are all equal.
NO_VARIATION = (
    "observations at the same design point do not differ at all, so that there is no error to judge "
    "differences by; true of a deterministic response, suspicious otherwise"
)


@dataclass(frozen=True, slots=True)
class PooledError:
    """Error mean square of a model and its degrees of freedom, for cells without replicates."""

    mean_sq: float
    df: int


@dataclass(frozen=True, slots=True)
class Contrast:
    """Estimate, variance and degrees of freedom of a weighted sum of cell means."""

    estimate: float
    variance: float
    df: float


class WithinBlocks(Protocol):
    """Cells compared within blocks: their means at the average block, and contrasts of them."""

    @property
    def means(self) -> FloatArray:
        """Means of the cells at the average block, as deviations from their origin (K)."""
        ...

    @property
    def counts(self) -> IntArray:
        """Observations of each cell in each block (K × b)."""
        ...

    def estimate(self, weights: FloatArray) -> Contrast:
        """Estimate a contrast whose weights (K) sum to 0."""
        ...

    def covary(self, first: FloatArray, second: FloatArray) -> float:
        """Covariance of two weighted sums of cell means (K each) at the average of these very blocks."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class CellErrors:
    """Variance of one observation, by groups of cells that share one.

    `group` (K) is each cell's group; `mean_sq` and `df` (G) are the groups' variances and their
    degrees of freedom. With `blocks`, differences are taken within these; means, which blocks are part of,
    keep the variance between them. With `shared`, cells have builds in common, and the variance of a
    contrast is that between builds.
    """

    group: IntArray
    mean_sq: FloatArray
    df: FloatArray
    blocks: WithinBlocks | None = None
    shared: SharedBuilds | None = None


def use_own_errors(cells: Cells, blocks: WithinBlocks | None = None) -> CellErrors:
    """Each cell's own variance; one of a single observation has none and must not be used."""
    df = (cells.counts - 1).astype(np.float64)
    # Spread that rounding alone explains is no spread: counting it would invent degrees of freedom.
    within = np.where(cells.within_ss <= cells.rounding_ss, 0.0, cells.within_ss)
    mean_sq = np.divide(within, df, out=np.full(df.size, np.nan), where=df > 0)
    return CellErrors(np.arange(df.size), mean_sq, df, blocks, gather_shared_builds(cells))


def use_pooled_errors(group: IntArray, errors: tuple[PooledError, ...]) -> CellErrors:
    """One variance for each group of cells; `group` (K) indexes `errors`."""
    return CellErrors(
        group,
        np.array([error.mean_sq for error in errors]),
        np.array([float(error.df) for error in errors]),
    )


def estimate_contrast(cells: Cells, weights: FloatArray, errors: CellErrors) -> Contrast:
    """Sum of weights × cell means, with Welch–Satterthwaite degrees of freedom.

    `weights` has one entry a cell (K); cells of weight zero do not count. Source: Satterthwaite
    1946; Welch 1947.
    """
    used = weights != 0
    means = cells.means if errors.blocks is None else errors.blocks.means
    estimate = float(np.sum(weights[used] * means[used]))
    total = float(np.sum(weights[used]))
    if abs(total) > 1e-12:
        estimate += cells.origin * total
    elif errors.blocks is not None:
        return errors.blocks.estimate(weights)
    if errors.shared is not None:
        return Contrast(estimate, *errors.shared.estimate_variance(weights))
    group = errors.group[used]
    sizes = np.bincount(group, weights=weights[used] ** 2 / cells.counts[used], minlength=errors.df.size)
    in_play = sizes > 0
    parts = sizes[in_play] * errors.mean_sq[in_play]
    return Contrast(estimate, float(np.sum(parts)), combine_freedom(parts, errors.df[in_play]))


def has_replicates(cells: Cells, used: FloatArray | None = None) -> bool:
    """Whether every cell (of those with weight) has at least two observations."""
    counts = cells.counts if used is None else cells.counts[used != 0]
    return bool(counts.size) and bool(np.all(counts >= 2))


def judge_contrast(contrast: Contrast) -> float | None:
    """Two-sided p-value of a contrast against zero; None where nothing varies, so that no test exists."""
    if contrast.variance == 0:
        return None
    statistic = abs(contrast.estimate) / math.sqrt(contrast.variance)
    return min(1.0, 2 * float(stdtr(contrast.df, -statistic)))


def find_critical(confidence: float, df: float) -> float:
    """Two-sided quantile of Student's distribution."""
    return -float(stdtrit(df, (1 - confidence) / 2))


def bound_contrast(contrast: Contrast, confidence: float) -> Interval:
    """Student's interval of a contrast."""
    reach = find_critical(confidence, contrast.df) * math.sqrt(contrast.variance)
    return Interval(contrast.estimate, contrast.estimate - reach, contrast.estimate + reach)


def bound_percent(
    cells: Cells, departure: FloatArray, base: FloatArray, errors: CellErrors, confidence: float
) -> Interval | None:
    """A contrast in percent of a mean, with Fieller's interval; both are weights of cells (K).

    None where the mean is not positive or may be zero.
    """
    mean = estimate_contrast(cells, base, errors)
    if mean.estimate <= 0:
        return None
    contrast = estimate_contrast(cells, departure, errors)
    used = (departure != 0) & (base != 0)
    products = departure[used] * base[used] / cells.counts[used]
    variance, covariance = mean.variance, float(np.sum(products * errors.mean_sq[errors.group[used]]))
    if errors.blocks is not None:
        variance, covariance = errors.blocks.covary(base, base), errors.blocks.covary(departure, base)
    elif errors.shared is not None:
        covariance = float(np.nansum(errors.shared.covary(departure, base)))
    ratio = bound_ratio(
        contrast.estimate,
        mean.estimate,
        numerator_variance=contrast.variance,
        denominator_variance=variance,
        covariance=covariance,
        critical=find_critical(confidence, contrast.df),
    )
    if ratio is None or ratio.low is None or ratio.high is None:
        return None
    return Interval(100 * ratio.estimate, 100 * ratio.low, 100 * ratio.high)
