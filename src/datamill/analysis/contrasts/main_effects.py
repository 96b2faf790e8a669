"""Main effects of two-level factors from few design points, and the error by which they are judged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from datamill.analysis.contrasts.blocks import BlockFit
from datamill.analysis.contrasts.contrast import Contrast, find_critical, judge_contrast
from datamill.analysis.contrasts.lenth import (
    FEWEST_EFFECTS,
    estimate_pseudo_error,
    find_pseudo_critical,
    judge_effects,
)
from datamill.analysis.contrasts.shared_builds import gather_shared_builds
from datamill.analysis.model_data.cells import Cells, FloatArray

#: Where the error comes from: from like trials, also within blocks, from builds that design points share, or
#: (Lenth) from the smallest effects.
ErrorSource = Literal["replicates", "blocks", "builds", "pseudo standard error"]


@dataclass(frozen=True, slots=True)
class PackageError:
    """By what the effects on a package are judged: `df` are the fewest degrees of freedom of any effect.

    With `varies` false like trials do not differ at all. `interactions_p` tests what main effects leave
    unexplained between design points against like trials; None where nothing is left, or where like trials
    share more than their design point.
    """

    package: str
    n: int
    source: ErrorSource
    varies: bool
    df: float
    interactions_p: float | None


@dataclass(frozen=True, slots=True, eq=False)
class MainEffects:
    """The mean and k effects (from low to high) of one package: `estimates`, `variances` (1 + k).

    `shared` (k) are covariances with the mean, `critical` (k) quantiles for each effect's interval, `p` (k)
    hold for each effect by itself.
    """

    error: PackageError
    estimates: FloatArray
    variances: FloatArray
    shared: FloatArray
    critical: FloatArray
    p: tuple[float | None, ...]


def fit_main_effects(
    cells: Cells,
    chosen: NDArray[np.bool_],
    signs: FloatArray,
    *,
    package: str,
    blocks: BlockFit | None,
    confidence: float,
) -> MainEffects | None:
    """Fit main effects by least squares to some cells; None where there is no error to judge them by.

    Args:
        cells: K of them.
        chosen: which are the package's (K), k' in number.
        signs: -1 and 1 for the low and high levels of factors (k' x k), of full rank with the mean.
        package: its name.
        blocks: cells and blocks fitted together, where trials were run in blocks.
        confidence: of each interval.
    """
    counts = cells.counts[chosen].astype(np.float64)
    # As deviations from the cells' origin, so that a large common offset costs no digits.
    means = (cells.means if blocks is None else blocks.means)[chosen]
    matrix = np.concatenate([np.ones((counts.size, 1)), signs], axis=1)
    inverse = np.asarray(np.linalg.inv(matrix.T @ (matrix * counts[:, None])), dtype=np.float64)
    scale = np.array([1.0] + [2.0] * signs.shape[1])
    weights = np.zeros((scale.size, cells.counts.size))
    weights[:, chosen] = scale[:, None] * (inverse @ (matrix.T * counts))
    estimates = weights[:, chosen] @ means
    left = counts * (means - matrix @ (estimates / scale)) ** 2
    estimates[0] += cells.origin
    n, df = int(np.sum(counts)), int(np.sum(counts - 1))
    between, between_df = float(np.sum(left)), counts.size - scale.size

    def judge(
        source: ErrorSource, covariances: FloatArray, dfs: FloatArray, interactions: float | None
    ) -> MainEffects:
        variances = np.diag(covariances)
        varies = bool(np.any(variances > 0))
        p = tuple(
            judge_contrast(Contrast(value, variance, of))
            for value, variance, of in zip(estimates[1:], variances[1:], dfs, strict=True)
        )
        error = PackageError(package, n, source, varies, float(np.min(dfs, initial=df)), interactions)
        critical = np.array([find_critical(confidence, float(of)) for of in dfs])
        return MainEffects(error, estimates, variances, covariances[0, 1:], critical, p)

    builds = gather_shared_builds(cells)
    if builds is not None:
        sums = [[float(np.nansum(builds.covary(a, b))) for b in weights] for a in weights]
        found = [builds.estimate_variance(row) for row in weights[1:]]
        covariances = np.array(sums)
        np.fill_diagonal(covariances[1:, 1:], [variance for variance, _ in found])
        if any(math.isnan(variance) for variance, _ in found):
            return None
        return judge("builds", covariances, np.array([of for _, of in found]), None)
    if df > 0 and blocks is not None:
        acting = (weights / cells.counts)[:, cells.of_row] - (weights @ blocks.shares) @ blocks.columns.T
        own = chosen[cells.of_row]
        squares = float(np.sum((blocks.variances * (1 - blocks.leverage))[own]))
        rest = float(np.sum((1 - blocks.leverage)[own]))
        square = squares / rest
        return judge("blocks", square * (acting @ acting.T), np.full(signs.shape[1], rest), None)
    if df > 0:
        within = float(np.sum(cells.within_ss[chosen]))
        square = 0.0 if within <= cells.rounding_ss else within / df
        interactions = None
        if between_df > 0 and square > 0:
            interactions = float(fdtrc(between_df, df, between / between_df / square))
        covariances = square * inverse * np.outer(scale, scale)
        return judge("replicates", covariances, np.full(signs.shape[1], float(df)), interactions)
    return _judge_by_smallest(
        package, n, matrix, means, estimates, inverse * np.outer(scale, scale), confidence
    )


def _judge_by_smallest(
    package: str,
    n: int,
    matrix: FloatArray,
    means: FloatArray,
    estimates: FloatArray,
    inverse: FloatArray,
    confidence: float,
) -> MainEffects | None:
    """Judge effects by the smallest of them, as there are no like trials; None where there are too few."""
    scaled = estimates[1:] / np.sqrt(np.diag(inverse)[1:])
    contrasts = np.concatenate([scaled, _list_interactions(matrix, means)])
    if contrasts.size < FEWEST_EFFECTS:
        return None
    error = estimate_pseudo_error(contrasts)
    covariances = error**2 * inverse
    count = scaled.size
    return MainEffects(
        PackageError(package, n, "pseudo standard error", error > 0, contrasts.size / 3, None),
        estimates,
        np.diag(covariances),
        covariances[0, 1:],
        np.full(count, find_pseudo_critical(contrasts.size, confidence)),
        tuple(None if math.isnan(p) else float(p) for p in judge_effects(contrasts)[:count]),
    )


def _list_interactions(matrix: FloatArray, means: FloatArray) -> FloatArray:
    """Interactions orthogonal to the main effects and to each other, with the variance of the error."""
    points = matrix.shape[0]
    basis = [matrix[:, column] for column in range(matrix.shape[1])]
    if np.max(np.abs(matrix.T @ matrix - points * np.eye(matrix.shape[1]))) > 1e-6:
        return np.zeros(0)
    found = []
    for first in range(1, matrix.shape[1]):
        for second in range(first + 1, matrix.shape[1]):
            column = matrix[:, first] * matrix[:, second]
            if len(basis) < points and all(abs(column @ other) < 1e-6 for other in basis):
                basis.append(column)
                found.append(float(column @ means) / math.sqrt(points))
    return np.array(found)
