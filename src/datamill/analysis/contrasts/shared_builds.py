"""Contrasts of cells that share builds: what chance in compilation made of a build is in all of its cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.analysis.contrasts.satterthwaite import combine_freedom
from datamill.analysis.model_data.cells import CellArray, Cells, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class SharedBuilds:
    """Observations of cells (n), each the mean of one build there, where a build is in several cells.

    `build` (n) and `cell` (n) number them, `residuals` (n) are deviations from the cell's mean, `counts` (K)
    the builds of each cell. Cells that have builds in common form a group: `group` (B) is that of each build,
    `sizes` (G) the number of builds in each.
    """

    build: IntArray
    cell: CellArray
    residuals: FloatArray
    counts: IntArray
    group: IntArray
    sizes: IntArray

    def covary(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Covariance of two weighted sums of cell means (K weights each), group by group (G).

        A build's part in a sum is what it adds over all of its cells; builds are independent, so that the
        parts' sums of products over l − 1, times l, estimate it: exactly as if each build were one
        observation where all builds of a group are in the same cells.
        """
        parts = [
            np.bincount(
                self.build,
                weights=weights[self.cell] / self.counts[self.cell] * self.residuals,
                minlength=self.group.size,
            )
            for weights in (first, second)
        ]
        sums = np.bincount(self.group, weights=parts[0] * parts[1], minlength=self.sizes.size)
        few = self.sizes < 2
        factor = np.where(few, np.nan, self.sizes / np.where(few, 1, self.sizes - 1))
        return np.asarray(sums * factor, dtype=np.float64)

    def estimate_variance(self, weights: FloatArray) -> tuple[float, float]:
        """Variance of a weighted sum of cell means (K weights), and its degrees of freedom."""
        used = np.zeros(self.sizes.size, dtype=np.bool_)
        used[self.group[self.build[weights[self.cell] != 0]]] = True
        parts = self.covary(weights, weights)[used]
        return float(np.sum(parts)), combine_freedom(parts, self.sizes[used] - 1)


def gather_shared_builds(cells: Cells) -> SharedBuilds | None:
    """Gather what contrasts of these cells need; None where they share no builds."""
    if cells.builds is None:
        return None
    count = int(cells.builds.max()) + 1
    group = _join_builds(cells.builds, cells.of_row, count)
    residuals = cells.values - cells.means[cells.of_row]
    if float(residuals @ residuals) <= cells.rounding_ss:
        residuals = np.zeros_like(residuals)
    return SharedBuilds(
        build=cells.builds,
        cell=cells.of_row,
        residuals=residuals,
        counts=cells.counts,
        group=group,
        sizes=np.bincount(group),
    )


def _join_builds(builds: IntArray, of_row: CellArray, count: int) -> IntArray:
    """The group of each build: builds that meet in a cell are in one."""
    group = np.arange(count)
    while True:
        least = np.full(int(of_row.max()) + 1, count)
        np.minimum.at(least, of_row, group[builds])
        joined = group.copy()
        np.minimum.at(joined, builds, least[of_row])
        if np.array_equal(joined, group):
            return np.unique(group, return_inverse=True)[1].astype(np.int64)
        group = joined
