"""Quantile regression on factors for data larger than memory, from a few passes over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datamill import _native
from datamill.analysis.distribution.order_statistics import check_quantiles
from datamill.analysis.model_data.cells import (
    CellArray,
    Cells,
    FloatArray,
    IntArray,
    ModelFactor,
    order_levels,
    refuse_magnitude,
)
from datamill.analysis.model_data.coding import list_formula_terms
from datamill.analysis.model_data.formula import list_factorial_terms
from datamill.analysis.model_data.matrix import ModelMatrix
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.quantile.errors.sandwich import choose_bandwidth, estimate_nid_covariance
from datamill.analysis.quantile.fit import QuantileProblem, Solutions
from datamill.analysis.quantile.fits import (
    count_crossings,
    is_saturated,
    spell_fits,
)
from datamill.analysis.quantile.inference import CovarianceInference
from datamill.analysis.quantile.quantile_model import QuantileModel
from datamill.analysis.quantile.terms import drop_hidden_terms, refuse_unusable_factors
from datamill.analysis.quantile.warnings import name_window, warn_of_streamed
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_given

#: Reads all rows once: batches of cell numbers and values.
ReadPass = Callable[[], Iterable[tuple[CellArray, FloatArray]]]


@dataclass(frozen=True, slots=True, eq=False)
class StreamedCells:
    """What is known of a table before its values are read again.

    Factors, the combinations of their levels with data (codes K × f), rows of each (K), and the
    range of the response.
    """

    factors: tuple[ModelFactor, ...]
    codes: IntArray
    counts: IntArray
    low: float
    high: float


def code_combinations_seen(
    names: Sequence[str],
    labels: Sequence[tuple[str, ...]],
    counts: NDArray[np.int64],
    low: float,
    high: float,
    levels: Mapping[str, Sequence[str]],
) -> tuple[StreamedCells, dict[tuple[str, ...], int]]:
    """Order the levels of the combinations that occur, as `levels` where these say; also number these."""
    factors = tuple(
        ModelFactor(name, _order({own[place] for own in labels}, levels.get(name, ())))
        for place, name in enumerate(names)
    )
    coded = {
        own: tuple(factor.levels.index(label) for factor, label in zip(factors, own, strict=True))
        for own in labels
    }
    ordered = sorted(coded, key=lambda own: coded[own])
    rows = {own: place for place, own in enumerate(labels)}
    cells = StreamedCells(
        factors,
        np.array([coded[own] for own in ordered], dtype=np.int64),
        counts[[rows[own] for own in ordered]],
        low,
        high,
    )
    return cells, {own: number for number, own in enumerate(ordered)}


def _order(labels: set[str], given: Sequence[str]) -> tuple[str, ...]:
    return (*(level for level in given if level in labels), *order_levels(labels - set(given)))


class _StreamedProblem(QuantileProblem):
    """A problem whose solutions were all found while the data went by."""

    def __init__(
        self, matrix: ModelMatrix, counts: FloatArray, known: dict[float, int], fit: Solutions
    ) -> None:
        self.matrix, self.counts, self.n = matrix, counts, int(counts.sum())
        self._known, self._fit = known, fit
        # The response counts from zero, so that its rounding is that of the coefficients.
        self.resolution = self.usual = 0.0

    def solve(self, quantiles: Sequence[float]) -> Solutions:
        rows = [self._known[quantile] for quantile in quantiles]
        fit = self._fit
        return Solutions(fit.coefficients[rows], fit.objectives[rows], fit.unique[rows])

    def measure_flat_bottoms(self, quantiles: Sequence[float], solutions: Solutions) -> FloatArray:  # noqa: ARG002
        return np.full(len(quantiles), np.nan)


def fit_quantile_stream(
    cells: StreamedCells,
    read_pass: ReadPass,
    quantiles: Sequence[float],
    *,
    order: int,
    confidence: float = 0.95,
    alpha: float = 0.05,
    bandwidth: str = "hall-sheather",
) -> QuantileModel:
    """Fit interactions of up to `order` factors as `fit_quantiles` does, with bounded memory.

    Coefficients have the bits of those in memory; errors are nid's, from quantiles at the ends of a
    window, which are found in the same passes. How wide a flat bottom is is not known (NaN).

    Raises:
        InputError: as `fit_quantiles`.
    """
    asked = check_quantiles(quantiles)
    n = int(cells.counts.sum())
    terms = list_formula_terms(
        cells.factors, (), list_factorial_terms([factor.name for factor in cells.factors], order)
    )
    none = np.zeros(0)
    shell = Observations(
        "",
        "",
        Cells(
            cells.factors,
            cells.codes,
            cells.counts,
            0.0,
            none,
            none,
            none,
            none,
            none.astype(np.uint32),
            none,
        ),
        0,
        0,
    )
    refuse_unusable_factors(shell.cells, terms)
    refuse_magnitude(cells.low, cells.high)
    if cells.low == cells.high:
        raise InputError(
            f"the response is constant: all {n} observations are {format_given(cells.low)}",
            remedy="There is no variation to analyse; check that the column is the right one.",
        )
    matrix, dropped = drop_hidden_terms(shell, terms)
    if n <= matrix.by_cell.shape[1]:
        raise InputError(
            f"{n} observations cannot estimate {matrix.by_cell.shape[1]} coefficients and their errors",
            remedy="Choose a lower order of interactions, or add replicates.",
        )
    windows = [choose_bandwidth(quantile, n, rule=bandwidth) for quantile in asked]
    ends = [quantile + side * h for quantile, h in zip(asked, windows, strict=True) for side in (-1, 1)]
    wanted = [*asked, *ends]
    stream = _native.CellStream(cells.counts.size, wanted, matrix.by_cell)
    while stream.plan():
        for cell_of_row, values in read_pass():
            stream.read(cell_of_row, values)
    fit = stream.finish()
    assert isinstance(fit, _native.CellFit)
    known = {quantile: row for row, quantile in enumerate(wanted)}
    problem = _StreamedProblem(
        matrix,
        cells.counts.astype(np.float64),
        known,
        Solutions(fit.coefficients, fit.objective, fit.unique),
    )
    solutions = problem.solve(asked)
    inferences, bad = [], {}
    for quantile in asked:
        covariance, not_positive = estimate_nid_covariance(problem, quantile, rule=bandwidth)
        inferences.append(CovarianceInference(covariance, n - matrix.by_cell.shape[1], confidence))
        if not_positive:
            bad[quantile] = not_positive
    fits = spell_fits(problem, cells.factors, 0.0, asked, solutions, inferences, confidence)
    crossings = count_crossings(problem, solutions.coefficients)
    return QuantileModel(
        factors=cells.factors,
        covariates=(),
        terms=matrix.terms,
        n=n,
        trials=None,
        cells=cells.counts.size,
        smallest_cell=int(np.min(cells.counts)),
        saturated=is_saturated(matrix),
        fits=fits,
        errors="nid",
        method="quantile regression, exact, from passes over the file; errors (nid): sandwich for errors of "
        "any spread, densities from fits at nearby quantiles (Hendricks and Koenker; window of "
        f"{name_window(bandwidth)}), Student's distribution",
        confidence=confidence,
        alpha=alpha,
        replicates=None,
        seed=None,
        not_estimable=dropped,
        crossings=crossings,
        warnings=warn_of_streamed(shell, problem, fits, confidence, dropped, bad, crossings),
    )
