"""The largest linear model that the data allow, and the errors that stand in where replicates are missing."""

from __future__ import annotations

import numpy as np

from datamill.analysis.contrasts.contrast import PooledError
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import Cells, ModelFactor, gather_cells
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.numbers import format_given


def fit_possible_model(cells: Cells, experiment: Experiment, warnings: list[str]) -> LinearModel | None:
    """The model of the wanted order, or of less with a warning; None where the data allow none."""
    if not cells.factors:
        return None
    if not np.any(cells.values):
        warnings.append(f"all {cells.n} observations are the same value, {format_given(cells.origin)}")
        return None
    wanted = min(experiment.interaction_order, len(cells.factors))
    message = ""
    for order in range(wanted, 0, -1):
        try:
            model = fit_linear_model(
                cells,
                order=order,
                confidence=experiment.confidence,
                alpha=experiment.alpha,
                # Lost trials, not the design, made factors change together: the others stay balanced.
                leave_out_aliased=True,
            )
        except InputError as error:
            message = error.message
            continue
        if order < wanted:
            warnings.append(
                f"interactions of more than {order} factor(s) are left out: {cells.n} observations "
                "are too few for them"
            )
        return model
    warnings.append(f"no model was fitted: {message}")
    return None


def find_fallback(
    cells: Cells, package_factor: int | None, model: LinearModel | None, experiment: Experiment
) -> tuple[PooledError, ...]:
    """Error of a model of each package by itself, since packages differ in their spread."""
    if package_factor is None:
        return () if model is None else (PooledError(model.error_ms, model.error_df),)
    errors = []
    for code in range(len(cells.factors[package_factor].levels)):
        part = _take_level(cells, package_factor, code)
        own = fit_possible_model(part, experiment, [])
        if own is not None:
            errors.append(PooledError(own.error_ms, own.error_df))
        elif part.n > 1 and not np.any(part.values):
            errors.append(PooledError(0.0, part.n - 1))
        else:
            return ()
    return tuple(errors)


def _take_level(cells: Cells, factor: int, code: int) -> Cells:
    """Cells at one level of a factor, without it and without factors that do not vary there."""
    rows = cells.codes[cells.of_row]
    chosen = rows[:, factor] == code
    codes = rows[chosen]
    kept, columns = [], []
    for index, item in enumerate(cells.factors):
        seen, compact = np.unique(codes[:, index], return_inverse=True)
        if index != factor and seen.size > 1:
            kept.append(ModelFactor(item.name, tuple(item.levels[int(level)] for level in seen)))
            columns.append(compact.reshape(-1))
    matrix = np.stack(columns, axis=1) if columns else np.zeros((codes.shape[0], 0), dtype=np.int64)
    return gather_cells(kept, matrix, cells.values[chosen] + cells.origin)
