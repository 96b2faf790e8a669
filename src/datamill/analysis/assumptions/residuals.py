"""Residuals of a linear model: of some rows, and sums over all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from datamill._native import mean_positions, sum_residuals
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.model_data.cells import Cells, FloatArray, IntArray
from datamill.analysis.model_data.coding import code_cells

#: Tests of distributions look at no more residuals than this: their p would only get smaller.
MOST_TESTED = 250_000


def take_residuals(cells: Cells, model: LinearModel, rows: slice | IntArray) -> tuple[FloatArray, FloatArray]:
    """Residuals of some observations, and the part of each that the model leaves free (1 − leverage)."""
    places = rows if model.by_row else cells.of_row[rows]
    return cells.values[rows] - model.fitted[places], 1.0 - model.leverage[places]


def take_fitted(cells: Cells, model: LinearModel, rows: slice | IntArray) -> FloatArray:
    """Fitted values of some observations, in the response's unit."""
    return cells.origin + model.fitted[rows if model.by_row else cells.of_row[rows]]


def standardise_residuals(cells: Cells, model: LinearModel, rows: IntArray) -> tuple[FloatArray, IntArray]:
    """Residuals over √(1 − leverage), without those that the model leaves no freedom, and their rows."""
    residuals, freedom = take_residuals(cells, model, rows)
    free = freedom > 1e-9
    return residuals[free] / np.sqrt(freedom[free]), rows[free]


def choose_rows(n: int) -> IntArray:
    """All rows, or 250 000 of them: one at random (seed 1) from each stretch of equal length."""
    if n <= MOST_TESTED:
        return np.arange(n)
    borders = np.arange(MOST_TESTED + 1) * n // MOST_TESTED
    widths = np.diff(borders)
    return np.asarray(borders[:-1] + np.random.default_rng(1).integers(0, widths), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ResidualSums:
    """Sums over all residuals e in run order, in units of their root mean square.

    `second`, `third` and `fourth` powers, the `largest` square; products of `neighbours` and their
    squared differences, `steps`; `trend` is the sum of e times what the model leaves of its
    position, `room` that of the squares of the latter.
    """

    second: float
    third: float
    fourth: float
    largest: float
    neighbours: float
    steps: float
    trend: float
    room: float


def sum_up_residuals(cells: Cells, model: LinearModel, sequence: IntArray | None) -> ResidualSums:
    """Sum over all residuals in one pass, in the order of the rows or in that of `sequence` (n).

    What a model with covariates leaves of a position is taken as the position itself.
    """
    scale = math.sqrt(model.error_ss / cells.n)
    values, places, fitted = cells.values, cells.of_row, model.fitted
    if model.by_row:
        values, places, fitted = values - fitted, np.zeros(cells.n, dtype=np.uint32), np.zeros(1)
    if sequence is not None:
        values, places = values[sequence], places[sequence]
    positions = np.zeros(fitted.size)
    if not model.by_row:
        coded = code_cells(cells.codes, cells.factors, [row.term for row in model.terms])
        positions = coded @ (model.weights @ mean_positions(places, fitted.size))
    return ResidualSums(*sum_residuals(values, places, fitted, positions, scale))


def describe_moments(sums: ResidualSums, n: int) -> tuple[float, float, float]:
    """Skewness and excess kurtosis of all residuals, and the largest one's share of their squares."""
    variance = sums.second / n
    skewness, kurtosis = sums.third / n / variance**1.5, sums.fourth / n / variance**2 - 3.0
    return skewness, kurtosis, sums.largest / sums.second
