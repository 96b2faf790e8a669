"""Contrasts of design points within blocks: hours, boots, or replicates that ran one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.analysis.contrasts.contrast import Contrast
from datamill.analysis.model_data.cells import Cells, FloatArray, IntArray
from datamill.experiment.errors import InputError

#: Largest model matrix of blocks, in numbers.
_LARGEST_MATRIX = 20_000_000
#: What is left of a leverage of 1, up to rounding.
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class BlockFit:
    """Cells and blocks fitted additively: value = cell + block + chance.

    n observations in K cells and b blocks. `columns` (n × b−1) are an orthonormal basis of the blocks'
    columns within cells, and `shares` (K × b−1) the cells' mean columns in terms of that basis. `means` (K)
    are the cells' means, as deviations from the cells' origin, at the average block. `variances` (n) are
    squared residuals over 1 minus `leverage`; `counts` (K × b) say how many observations a cell has in a
    block.
    """

    cells: Cells
    columns: FloatArray
    shares: FloatArray
    means: FloatArray
    leverage: FloatArray
    variances: FloatArray
    counts: IntArray
    blocks: tuple[str, ...]

    def estimate(self, weights: FloatArray) -> Contrast:
        """Estimate a contrast of cells whose weights (K) sum to 0; variances may differ everywhere.

        The variance is the sandwich with squared residuals over 1 minus leverage (HC2: MacKinnon and White
        1985), the degrees of freedom are Satterthwaite's (Bell and McCaffrey 2002). Two packages that each
        came once in every block give the paired t-test; one block would give Welch's variance.
        """
        cells = self.cells
        estimate = float(np.sum(weights * self.means))
        acting = self._find_acting(weights)
        variance = float(np.sum(acting**2 * self.variances))
        left = 1 - self.leverage
        parts = np.divide(acting**2, left, out=np.zeros_like(acting), where=left > _NOTHING)
        trace = float(np.sum(parts * left))
        # Sum over pairs of parts × parts × (squared element of the residual projection).
        by_cell = np.zeros((cells.counts.size, self.columns.shape[1]))
        np.add.at(by_cell, cells.of_row, parts[:, None] * self.columns)
        sums = np.bincount(cells.of_row, weights=parts, minlength=cells.counts.size)
        squares = float(
            np.sum(parts**2 * (1 - 2 * self.leverage))
            + np.sum((sums / cells.counts) ** 2)
            + 2 * np.sum(np.sum(by_cell**2, axis=1) / cells.counts)
            + np.sum(((self.columns * parts[:, None]).T @ self.columns) ** 2)
        )
        df = trace**2 / squares if squares > 0 else float(cells.n - cells.counts.size - self.columns.shape[1])
        return Contrast(estimate, variance, df)

    def covary(self, first: FloatArray, second: FloatArray) -> float:
        """Covariance of two weighted sums of cell means (K each) at the average of these very blocks."""
        return float(np.sum(self._find_acting(first) * self._find_acting(second) * self.variances))

    def _find_acting(self, weights: FloatArray) -> FloatArray:
        """How much each observation counts (n) in a weighted sum of the cells' means."""
        own = (weights / self.cells.counts)[self.cells.of_row]
        acting: FloatArray = own - self.columns @ (weights @ self.shares)
        return acting


def fit_blocks(
    cells: Cells, codes: IntArray, blocks: tuple[str, ...], *, groups: IntArray | None = None
) -> BlockFit:
    """Fit every cell's mean and additive effects of blocks; `codes` (n) are the block of each observation.

    With `groups` (n), such as machines, no block and no cell has observations of two of them: then means are
    at the average block of their own group.

    Raises:
        InputError: there is one block only, blocks and cells change together, so that nothing can be
            compared within blocks, or some cell has too few observations for its blocks.
    """
    used, codes = np.unique(codes, return_inverse=True)
    codes = codes.reshape(-1)
    names = tuple(blocks[int(code)] for code in used)
    b, n, k = used.size, cells.n, cells.counts.size
    if b < 2:
        raise InputError("there is one block only", remedy="Leave blocks out.")
    if n * b > _LARGEST_MATRIX:
        raise InputError(f"{b} blocks are too many for {n} observations", remedy="Take longer blocks.")
    columns = _code_blocks(codes, b, groups)
    averages = np.zeros((k, columns.shape[1]))
    np.add.at(averages, cells.of_row, columns)
    averages /= cells.counts[:, None]
    within = columns - averages[cells.of_row]
    q, r = np.linalg.qr(within)
    size = np.abs(np.diag(r))
    if n - k < columns.shape[1] or size.min() < 1e-8 * max(1.0, float(size.max())):
        raise InputError(
            "blocks and levels changed together, so that they cannot be told apart",
            remedy="Leave blocks out.",
        )
    shares = np.linalg.solve(r.T, averages.T).T
    deviations = cells.values - cells.means[cells.of_row]
    effects = q.T @ deviations
    leverage = 1.0 / cells.counts[cells.of_row] + np.sum(q**2, axis=1)
    residuals = deviations - q @ effects
    alone = np.bincount(codes)[codes] == 1
    if np.any((leverage > 1 - _NOTHING) & ~alone) or n - k - columns.shape[1] < 1:
        raise InputError(
            "some design point has too few observations for its blocks", remedy="Add replicates."
        )
    left = np.where(leverage > 1 - _NOTHING, np.inf, 1 - leverage)
    squares = residuals**2
    if float(np.sum(squares)) <= cells.rounding_ss:
        squares = np.zeros(n)
    return BlockFit(
        cells=cells,
        columns=q,
        shares=shares,
        means=cells.means - shares @ effects,
        leverage=leverage,
        variances=squares / left,
        counts=np.bincount(cells.of_row.astype(np.int64) * b + codes, minlength=k * b).reshape(k, b),
        blocks=names,
    )


def _code_blocks(codes: IntArray, count: int, groups: IntArray | None) -> FloatArray:
    """Columns of blocks (n × count less the number of groups), of mean 0 in each group."""
    belongs = np.zeros(codes.size, dtype=np.int64) if groups is None else groups
    columns = np.zeros((codes.size, count))
    columns[np.arange(codes.size), codes] = 1.0
    references = []
    for group in np.unique(belongs):
        rows = belongs == group
        references.append(int(codes[rows].min()))
        columns[rows] -= columns[rows].mean(axis=0)
    return np.delete(columns, references, axis=1)
