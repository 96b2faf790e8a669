"""What the pictures of a model's residuals show: few points, with the extremes, however many observations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.analysis.assumptions.assumption_checks import InfluentialObservation
from datamill.analysis.assumptions.influential import find_most_influential, measure_cook
from datamill.analysis.assumptions.normality import score_normally
from datamill.analysis.assumptions.residuals import choose_rows, standardise_residuals, take_fitted
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.model_data.cells import Cells, FloatArray, IntArray

#: Points that one picture shows at most, and how many of each extreme are never left out.
_MOST_POINTS, _EXTREMES = 2000, 25
_BINS = 48
#: Beyond this part of the residuals on each side the histogram's axis ends.
_TAIL = 0.002


@dataclass(frozen=True, slots=True, eq=False)
class Diagnostics:
    """Points of four pictures; residuals are in standard deviations of the error.

    `fitted`, `residuals` (m): a thinned cloud that keeps the extremes. `scores`, `ordered` (k):
    normal scores and ordered residuals. `edges` (b + 1), `counts` (b): histogram of the residuals
    tested, `outside` of which lie beyond it. `rows`, `distances` (d): the observations (from 1) with
    the largest Cook's distances among those tested. `tested` of `n` residuals were looked at.
    """

    fitted: FloatArray
    residuals: FloatArray
    scores: FloatArray
    ordered: FloatArray
    edges: FloatArray
    counts: IntArray
    outside: int
    rows: IntArray
    distances: FloatArray
    most_influential: InfluentialObservation | None
    tested: int
    n: int


def gather_diagnostics(cells: Cells, model: LinearModel) -> Diagnostics | None:
    """Choose what the pictures show; None where there is no error to look at.

    Beyond 250 000 observations they show so many of them taken at random, and the largest and the
    smallest of each cell.
    """
    if model.error_ms == 0:
        return None
    rows = choose_rows(cells.n)
    if rows.size < cells.n and not model.by_row:
        rows = np.union1d(rows, _find_extreme_rows(cells))
    residuals, rows = standardise_residuals(cells, model, rows)
    if residuals.size == 0:
        return None
    residuals = residuals / np.sqrt(model.error_ms)
    order = np.argsort(residuals, kind="stable")
    cloud = _thin_cloud(order)
    places = _thin_tails(order.size)
    ordered = residuals[order]
    low, high = np.quantile(ordered, [_TAIL, 1 - _TAIL])
    # A little beyond the tails cut off, so that a whole bell is shown whole.
    reach = 0.35 * (high - low) or 1.0
    low, high = max(low - reach, ordered[0]), min(high + reach, ordered[-1])
    bins = min(_BINS, max(8, int(np.sqrt(ordered.size))))
    counts, edges = np.histogram(ordered, bins=bins, range=(low, high))
    distances = measure_cook(cells, model, rows)
    largest = np.sort(np.argsort(distances)[::-1][: _EXTREMES * 4])
    return Diagnostics(
        fitted=take_fitted(cells, model, rows[cloud]),
        residuals=residuals[cloud],
        scores=score_normally(order.size)[places],
        ordered=ordered[places],
        edges=edges,
        counts=counts,
        outside=int(ordered.size - np.sum(counts)),
        rows=rows[largest] + 1,
        distances=distances[largest],
        most_influential=find_most_influential(cells, model),
        tested=int(residuals.size),
        n=cells.n,
    )


def _find_extreme_rows(cells: Cells) -> IntArray:
    """The rows of each cell's smallest and largest observation."""
    lowest, highest = cells.lows[cells.of_row], cells.highs[cells.of_row]
    return np.flatnonzero((cells.values == lowest) | (cells.values == highest))[:_MOST_POINTS]


def _thin_cloud(order: IntArray) -> IntArray:
    """Extremes of the ordered residuals, and as many of the others, at random (seed 1), as there is room."""
    if order.size <= _MOST_POINTS:
        return np.sort(order)
    ends = np.concatenate([order[:_EXTREMES], order[-_EXTREMES:]])
    between = order[_EXTREMES:-_EXTREMES]
    some = np.random.default_rng(1).choice(between, _MOST_POINTS - ends.size, replace=False)
    return np.sort(np.concatenate([ends, some]))


def _thin_tails(n: int) -> IntArray:
    """Positions in an ordered row: all at the ends, and evenly in normal scores between."""
    most = 400
    if n <= most:
        return np.arange(n)
    scores = score_normally(n)
    even = np.searchsorted(scores, np.linspace(scores[0], scores[-1], most - 2 * _EXTREMES))
    ends = np.concatenate([np.arange(_EXTREMES), np.arange(n - _EXTREMES, n)])
    return np.unique(np.concatenate([ends, np.minimum(even, n - 1)]))
