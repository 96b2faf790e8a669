"""The few rows that least squares cannot tell from all the observations: an exact reduction, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamill.analysis.model_data.cells import Cells, FloatArray, IntArray
from datamill.analysis.model_data.matrix import ModelMatrix
from datamill.analysis.model_data.observations import Covariate

#: Below this fraction of its length a column is a combination of the columns before it.
RANK_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """A smaller least-squares problem with the same solution and the same sums of squares.

    `matrix` (r × p) and `response` (r) replace the n rows of the model matrix and of the response's
    deviations from the cells' origin. `rest_ss` on `rest_df` degrees of freedom is what no model of
    these terms can explain: the squares within cells, or about each cell's own plane in the
    covariates.
    """

    matrix: FloatArray
    response: FloatArray
    rest_ss: float
    rest_df: int


def centre_covariates(covariates: Sequence[Covariate]) -> tuple[tuple[Covariate, float], ...]:
    """Covariates as deviations from their means, and these means.

    First one of the observations is subtracted, which is exact where a large offset (a time, an
    address) hides a small spread.
    """
    centred = []
    for covariate in covariates:
        origin = float(covariate.values[covariate.values.size // 2])
        # What leaves the range of a double is refused with the model matrix.
        with np.errstate(over="ignore", invalid="ignore"):
            deviations = covariate.values - origin
            middle = float(np.mean(deviations))
            deviations = deviations - middle
        centred.append((Covariate(covariate.name, deviations), origin + middle))
    return tuple(centred)


def reduce_observations(cells: Cells, matrix: ModelMatrix) -> Reduction:
    """Reduce the observations to a few rows a cell by orthogonal transformations.

    Without covariates that is the cell's mean, weighted by the root of its count. With m products
    of covariates it is the triangle of a QR decomposition of the cell's (1, covariates, response),
    at most m + 1 rows, so that no digits are lost to squaring (as in TSQR, Demmel et al. 2012).
    """
    if matrix.factorial:
        weights = np.sqrt(cells.counts.astype(np.float64))
        return Reduction(
            matrix.by_cell * weights[:, None],
            weights * cells.means,
            float(np.sum(cells.within_ss)),
            cells.n - int(cells.counts.size),
        )
    size = matrix.products.shape[0] + 1
    scales = np.sqrt(np.mean(matrix.products**2, axis=1))
    scales[scales == 0] = 1.0
    spread = float(np.max(np.abs(cells.values))) or 1.0
    order = np.argsort(cells.of_row, kind="stable")
    rows = np.empty((cells.n, size + 1))
    rows[:, 0] = 1.0
    rows[:, 1:size] = (matrix.products[:, order] / scales[:, None]).T
    rows[:, size] = cells.values[order] / spread
    triangles = _factorise_cells(rows, cells.counts)
    # A second, tiny rotation puts what a cell's own plane cannot reach into rows without covariates.
    left, lengths, right = np.linalg.svd(triangles[:, :, :size], full_matrices=True)
    reached = lengths > RANK_TOLERANCE * lengths[:, :1]
    rotated = np.einsum("kij,ki->kj", left, triangles[:, :, size])
    inside = np.where(reached, rotated[:, :size], 0.0)
    outside = float(np.sum(rotated[:, size:] ** 2) + np.sum((rotated[:, :size] - inside) ** 2))
    in_cell = np.where(reached, lengths, 0.0)[:, :, None] * right
    in_cell[:, :, 1:] *= scales
    reduced = np.zeros((*in_cell.shape[:2], matrix.by_cell.shape[1]))
    for column, product in enumerate(matrix.of_product):
        reduced[:, :, column] = in_cell[:, :, product + 1] * matrix.by_cell[:, column, None]
    keep = reached.reshape(-1)
    return Reduction(
        reduced.reshape(keep.size, -1)[keep],
        inside.reshape(-1)[keep] * spread,
        outside * spread**2,
        cells.n - int(np.sum(keep)),
    )


def _factorise_cells(rows: FloatArray, counts: IntArray) -> FloatArray:
    """Triangles of the rows of each cell (K × w × w), which come cell after cell."""
    width = rows.shape[1]
    triangles = np.zeros((counts.size, width, width))
    start = 0
    for cell, count in enumerate(counts):
        triangle: FloatArray = np.asarray(np.linalg.qr(rows[start : start + count], mode="r"))
        triangles[cell, : triangle.shape[0]] = triangle
        start += int(count)
    return triangles
