"""The observation that moves the model most: Cook's distance."""

from __future__ import annotations

import numpy as np
from scipy.special import fdtri

from datamill.analysis.assumptions.assumption_checks import InfluentialObservation
from datamill.analysis.assumptions.residuals import take_residuals
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.model_data.cells import Cells, FloatArray, IntArray
from datamill.experiment.messages.numbers import format_figures


def measure_cook(cells: Cells, model: LinearModel, rows: slice | IntArray) -> FloatArray:
    """Cook's distance of some observations, e² h / (p s² (1 − h)²); zero where no freedom is left."""
    residuals, freedom = take_residuals(cells, model, rows)
    return _scale_squares(residuals, freedom, model)


def _scale_squares(residuals: FloatArray, freedom: FloatArray, model: LinearModel) -> FloatArray:
    parameters = model.n - model.error_df
    free = np.maximum(freedom, 1e-9)
    weight = np.where(freedom > 1e-9, (1 - freedom) / free**2, 0.0)
    return np.asarray(residuals**2 / model.error_ms * weight / parameters, dtype=np.float64)


def find_most_influential(cells: Cells, model: LinearModel) -> InfluentialObservation | None:
    """The observation with the largest Cook's distance; None where there is no error."""
    if model.error_ms == 0:
        return None
    if model.by_row:
        row = int(np.argmax(measure_cook(cells, model, slice(None))))
    else:
        # In a cell the extremes are farthest from the fit: no need to look at the rows between.
        freedom = 1.0 - model.leverage
        low = _scale_squares(cells.lows - model.fitted, freedom, model)
        high = _scale_squares(cells.highs - model.fitted, freedom, model)
        cell = int(np.argmax(np.maximum(low, high)))
        extreme = cells.lows[cell] if low[cell] > high[cell] else cells.highs[cell]
        row = int(np.argmax((cells.values == extreme) & (cells.of_row == cell)))
    distance = float(measure_cook(cells, model, np.array([row]))[0])
    parameters = model.n - model.error_df
    limit = float(fdtri(parameters, model.error_df, 0.5))
    codes = cells.codes[cells.of_row[row]]
    levels = tuple(factor.levels[code] for factor, code in zip(cells.factors, codes, strict=True))
    place = f"observation {row + 1}" + (f" ({', '.join(levels)})" if levels else "")
    influential = distance > limit
    words = (
        f"{place} moves the estimates by itself (Cook's distance {format_figures(distance, 2)}, limit "
        f"{format_figures(limit, 2)}): see how "
        "it came about, and whether the conclusions stand without it"
        if influential
        else (
            "no single observation decides the result (largest Cook's distance "
            f"{format_figures(distance, 2)}, at {place})"
        )
    )
    return InfluentialObservation(row + 1, distance, limit, influential, levels, words)
