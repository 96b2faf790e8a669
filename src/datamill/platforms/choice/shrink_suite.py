"""Benchmarks that others stand for: a smaller suite, and what it loses."""

from __future__ import annotations

import numpy as np

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.platforms.choice.platform_choice import RedundantBenchmark, SmallerSuite
from datamill.platforms.prediction.missing_cells import fill_cells
from datamill.platforms.scores.score_matrix import FloatArray, ScoreMatrix

#: Penalty of the regression, in units of the mean square of a benchmark's pattern.
_PENALTY = 0.1
_FOLDS = 10
_FEWEST_MACHINES = 4


def shrink_suite(matrix: ScoreMatrix, *, loss: float = 0.05) -> SmallerSuite:
    """Leave out benchmarks one by one, as long as those kept predict each of the others within `loss`.

    A benchmark is predicted from those kept on machines that had no part in its model: ridge regression of
    what it departs from the suite's level, over machines, ten folds (thesis 2015, §7.6; Phansalkar and
    others 2007 cut a tree of clusters instead). At each step that one is left out which is predicted best.

    Args:
        matrix: the suite.
        loss: the largest median error of a benchmark that may be left out, as a share.

    Raises:
        InputError: there are fewer than four machines or three benchmarks, or the loss is not above 0.
    """
    if loss <= 0:
        raise InputError(
            f"a loss of {loss} leaves nothing out",
            where=argument("loss", verb="platforms choose"),
            remedy="Give a share such as 5%.",
        )
    known = np.isfinite(matrix.seconds)
    rows = known.sum(axis=1) * 2 >= len(matrix.benchmarks)
    columns = np.flatnonzero(known[rows].sum(axis=0) * 2 >= rows.sum()) if rows.any() else np.empty(0, int)
    if rows.sum() < _FEWEST_MACHINES or len(columns) < 3:
        raise InputError(
            f"{int(rows.sum())} machines and {len(columns)} benchmarks with at least half of their scores do "
            f"not tell which benchmarks are redundant",
            remedy=f"{_FEWEST_MACHINES} machines and 3 benchmarks are needed.",
        )
    names = [matrix.benchmarks[column] for column in columns]
    logs = fill_cells(np.log(matrix.seconds[rows][:, columns]))
    kept = list(range(len(names)))
    order: list[int] = []
    while len(kept) > 2:
        errors = {
            column: _predict(logs, column, [item for item in kept if item != column]) for column in kept
        }
        best = min(kept, key=lambda column: float(np.median(errors[column])))
        left = [item for item in kept if item != best]
        if any(np.median(_predict(logs, column, left)) > loss for column in (*order, best)):
            break
        order.append(best)
        kept = left
    alone = {column: [item for item in range(len(names)) if item != column] for column in range(len(names))}
    rest = [_describe(logs, names, column, alone[column]) for column in range(len(names))]
    badly = sorted(
        (item for item in rest if item.median_error > 2 * loss), key=lambda item: -item.median_error
    )
    warnings = []
    if rows.sum() < 10:
        warnings.append(
            f"{int(rows.sum())} machines tell little of which benchmarks are redundant: on others they may "
            "part."
        )
    return SmallerSuite(
        tuple(names[column] for column in kept),
        tuple(_describe(logs, names, column, kept) for column in order),
        tuple(badly),
        tuple(warnings),
    )


def _describe(logs: FloatArray, names: list[str], column: int, kept: list[int]) -> RedundantBenchmark:
    """Say how well those kept predict a benchmark, and which of them is most like it."""
    errors = _predict(logs, column, kept)
    centred = logs - logs[:, kept].mean(axis=1)[:, None]
    centred = centred - centred.mean(axis=0)
    apart = ((centred[:, kept] - centred[:, [column]]) ** 2).sum(axis=0)
    return RedundantBenchmark(
        names[column], float(np.median(errors)), float(errors.max()), names[kept[int(np.argmin(apart))]]
    )


def _predict(logs: FloatArray, column: int, kept: list[int]) -> FloatArray:
    """Return |predicted / true − 1| of a benchmark on each machine, predicted without that machine."""
    count = len(logs)
    level = logs[:, kept].mean(axis=1)
    inputs = logs[:, kept] - level[:, None]
    goal = logs[:, column] - level
    found = np.empty(count)
    folds = np.arange(count) % min(_FOLDS, count)
    for fold in range(min(_FOLDS, count)):
        out = folds == fold
        middle, mean = inputs[~out].mean(axis=0), goal[~out].mean()
        rows = inputs[~out] - middle
        size = max(float((rows**2).mean()), 1e-12) * len(kept)
        gram = rows.T @ rows + _PENALTY * size * np.eye(len(kept))
        weights = np.linalg.solve(gram, rows.T @ (goal[~out] - mean))
        found[out] = mean + (inputs[out] - middle) @ weights - goal[out]
    errors: FloatArray = np.abs(np.expm1(found))
    return errors
