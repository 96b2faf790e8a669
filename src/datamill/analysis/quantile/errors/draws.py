"""Draws of cell quantiles: how many observations of a cell lie below its quantile is binomial."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr

from datamill.analysis.model_data.cells import CellArray, FloatArray, IntArray

#: Standard deviations of a count beyond which it is not drawn.
_REACH = 9.0


@dataclass(frozen=True, slots=True, eq=False)
class SortedValues:
    """Values of K cells, each cell's ascending: those of cell c are `values[starts[c]:starts[c + 1]]`."""

    values: FloatArray
    starts: IntArray

    @property
    def counts(self) -> IntArray:
        """Observations of each cell (K)."""
        return np.diff(self.starts)

    def interpolate(self, positions: FloatArray) -> FloatArray:
        """Values at positions (K × R) between order statistics: 1 is the smallest, n the largest.

        Before the first and after the last, an exponential tail with the mean excess of the about
        sqrt(n) outermost observations.
        """
        result = np.empty_like(positions)
        for cell, wanted in enumerate(positions):
            own = self.values[self.starts[cell] : self.starts[cell + 1]]
            n = own.size
            below = np.floor(wanted).astype(np.int64)
            low, high = own[np.clip(below, 1, n) - 1], own[np.clip(below + 1, 1, n) - 1]
            share = wanted - below
            found = low + share * (high - low)
            lower, upper = _measure_tails(own)
            first, last = below < 1, below >= n
            found[first] = own[0] + lower * np.log(np.maximum(wanted[first], 1e-12))
            found[last] = own[-1] - upper * np.log(np.maximum(n + 1 - wanted[last], 1e-12))
            result[cell] = found
        return result

    def share_ties(self, positions: FloatArray) -> FloatArray:
        """Share of each cell's positions (K × R) that lie between two equal values (K)."""
        shares = np.empty(positions.shape[0])
        for cell, wanted in enumerate(positions):
            own = self.values[self.starts[cell] : self.starts[cell + 1]]
            below = np.clip(np.floor(wanted).astype(np.int64), 1, own.size)
            tied = own[below - 1] == own[np.minimum(below, own.size - 1)]
            shares[cell] = np.mean(tied & (below < own.size))
        return shares


def sort_cells(cell_of_row: CellArray, values: FloatArray, cells: int) -> SortedValues:
    """Sort the values (n) of every cell."""
    small = cell_of_row.astype(np.uint16) if cells <= 1 << 16 else cell_of_row
    grouped = values[np.argsort(small, kind="stable")]
    starts = np.zeros(cells + 1, dtype=np.int64)
    np.cumsum(np.bincount(cell_of_row, minlength=cells), out=starts[1:])
    for cell in range(cells):
        grouped[starts[cell] : starts[cell + 1]].sort()
    return SortedValues(grouped, starts)


def _measure_tails(ascending: FloatArray) -> tuple[float, float]:
    """Mean excesses below the smallest and above the largest observation, were the tails exponential."""
    n = ascending.size
    reach = min(n - 1, round(math.sqrt(n)))
    if reach < 1:
        return 0.0, 0.0
    expected = sum(1 / place for place in range(1, reach + 1))
    lower = (ascending[reach] - ascending[0]) / expected
    return float(lower), float((ascending[-1] - ascending[-1 - reach]) / expected)


def draw_targets(quantile: float, counts: IntArray, replicates: int, rng: np.random.Generator) -> FloatArray:
    """Numbers of observations of each cell that may lie below its true quantile (K × R), in random order.

    Of n independent observations a binomial number does, whatever their distribution; half an
    observation to both sides makes it continuous. Draws are stratified, one for each R-th part of
    the distribution.
    """
    targets = np.empty((counts.size, replicates))
    levels = (np.arange(replicates) + 0.5) / replicates
    tables: dict[int, FloatArray] = {}
    for cell, count in enumerate(counts.tolist()):
        if count not in tables:
            tables[count] = _draw_counts(count, quantile, levels)
        targets[cell] = rng.permutation(tables[count]) + rng.random(replicates) - 0.5
    return targets


def _draw_counts(size: int, quantile: float, levels: FloatArray) -> FloatArray:
    deviation = math.sqrt(size * quantile * (1 - quantile))
    low = max(0, math.floor(size * quantile - _REACH * deviation - 20))
    high = min(size, math.ceil(size * quantile + _REACH * deviation + 20))
    counts = np.arange(low, high + 1)
    below = np.asarray(bdtr(counts, size, quantile))
    return counts[np.minimum(np.searchsorted(below, levels), counts.size - 1)].astype(np.float64)
