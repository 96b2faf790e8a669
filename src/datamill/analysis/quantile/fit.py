"""Exact solutions of quantile regression, whichever kernel suits the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from datamill import _native
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.model_data.matrix import ModelMatrix

#: Share of the sum of its parts below which a difference from a fitted value is none but for rounding.
_ROUNDING = 1e-13
#: What rounding of observations may set apart that are equal as decimals, as a share of their offset.
_ROUNDING_OF_OFFSET = 4 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Solutions:
    """Solutions at T quantiles: coefficients (T × p), objectives (T), whether each is the only one (T)."""

    coefficients: FloatArray
    objectives: FloatArray
    unique: NDArray[np.bool_]


class QuantileProblem:
    """Observations and a model matrix, to be solved at any quantiles.

    Where several solutions have the same objective, the limit from below is chosen. `values` (n) are
    deviations from `origin`, beside which they are not exact: 1000000.1 - 1000000 is not 0.1.
    """

    def __init__(self, matrix: ModelMatrix, values: FloatArray, origin: float = 0.0) -> None:
        self.matrix = matrix
        self.values = values
        #: How far apart values may be that are equal but for the rounding of the observations.
        self.resolution: float = _ROUNDING_OF_OFFSET * abs(origin)
        #: Number of observations.
        self.n: int = values.size
        cells = matrix.by_cell.shape[0]
        self._sorted = _native.SortedCells(matrix.cell_of_row, values, cells) if matrix.factorial else None
        #: Observations that a fitted value stands for: of each cell, or with covariates one each.
        self.counts: FloatArray = (
            np.bincount(matrix.cell_of_row, minlength=cells).astype(np.float64)
            if matrix.factorial
            else np.ones(values.size)
        )

    def solve(self, quantiles: Sequence[float]) -> Solutions:
        """Minimise the sum of check functions at each quantile (Koenker and Bassett 1978)."""
        matrix = self.matrix
        if self._sorted is not None:
            fit = self._sorted.fit(matrix.by_cell, list(quantiles))
            return Solutions(fit.coefficients, fit.objective, fit.unique)
        coefficients, objectives, _, several, _ = _native.fit_general(
            matrix.by_cell,
            matrix.cell_of_row,
            matrix.products,
            matrix.of_product,
            self.values,
            np.asarray(quantiles, dtype=np.float64),
        )
        return Solutions(coefficients, objectives, ~several)

    def measure_flat_bottoms(self, quantiles: Sequence[float], solutions: Solutions) -> FloatArray:
        """Largest difference of a coefficient between the limits from below and above (T); 0 where unique.

        In the unit of the response: that of a slope counts where its covariate is farthest away.
        """
        widths = np.zeros(len(quantiles))
        several = np.flatnonzero(~solutions.unique)
        if several.size:
            mirrored = QuantileProblem(self.matrix, -self.values)
            above = mirrored.solve([1 - quantiles[index] for index in several.tolist()])
            apart = np.abs(above.coefficients + solutions.coefficients[several]) * self.matrix.sizes
            widths[several] = np.max(apart, axis=1)
        return widths

    def fit_values(self, coefficients: FloatArray) -> FloatArray:
        """Fitted values (T × K for factors alone, else T × n) of coefficients (T × p)."""
        matrix = self.matrix
        if matrix.factorial:
            return np.asarray(coefficients @ matrix.by_cell.T, dtype=np.float64)
        return _native.fitted_general(
            matrix.by_cell, matrix.cell_of_row, matrix.products, matrix.of_product, coefficients
        )

    def measure_rounding(self, coefficients: FloatArray) -> float:
        """What values fitted by coefficients (p) may lack of the observations that they go through.

        By the size of what they are summed from and of the usual observation; one of these may be far away.
        """
        parts = self.usual + float(np.sum(np.abs(coefficients) * self.matrix.sizes))
        return max(_ROUNDING * parts, self.resolution)

    @cached_property
    def usual(self) -> float:
        """Half of (a million of) the values that are not zero are larger than this."""
        chosen = self.values[:: max(1, self.values.size >> 20)]
        return float(np.median(np.abs(chosen[chosen != 0]))) if np.any(chosen) else 0.0

    def cross(self, weights: FloatArray) -> FloatArray:
        """X'WX (p × p) for one weight a row (n), or with factors alone one total weight a cell (K)."""
        matrix = self.matrix
        if matrix.factorial:
            return np.asarray((matrix.by_cell.T * weights) @ matrix.by_cell, dtype=np.float64)
        return _native.weighted_cross_products(
            matrix.by_cell, matrix.cell_of_row, matrix.products, matrix.of_product, weights
        )
