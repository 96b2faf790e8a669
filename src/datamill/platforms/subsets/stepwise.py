"""Selection of predictors one by one, forward or backward (thesis 2015, section 7.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from datamill.experiment.errors import InputError
from datamill.platforms.scores.score_matrix import FloatArray
from datamill.platforms.subsets.criteria import Criterion, find_adjusted_r2, find_cp, find_variances

#: Squared length, of 1 at first, below which a column depends on others; as the exhaustive search has it.
_DEPENDENT = 1e-16
#: Share of the total sum of squares below which a fit is exact.
_EXACT = 1e-22

Direction = Literal["forward", "backward"]


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The predictors that were selected, ascending, with residual sum of squares and value of the criterion.

    `path` has the columns in the sequence in which they were added (forward) or removed (backward).
    """

    members: tuple[int, ...]
    rss: float
    value: float
    path: tuple[int, ...]


def select_predictors(
    predictors: FloatArray,
    response: FloatArray,
    criterion: Criterion,
    direction: Direction,
    *,
    largest: int | None = None,
    variance: float | None = None,
) -> Selection:
    """Add predictors as long as the model's quality improves, or remove them as long as it does not degrade.

    Shapes: predictors (n × p), response (n). Forward selection begins with no predictor and adds the one that
    fits best; it stops when the criterion does not improve, or at `largest`. Backward selection removes the
    one that is missed least, as long as the criterion gets no worse. It cannot begin with all predictors
    where these leave no degree of freedom (p > n - 2): all such models fit exactly and none can be told from
    another, so it begins with the model of n - 2 predictors (or `largest`) that forward steps without a
    criterion reach. Of equal candidates the first is taken. `variance` is what Cp divides by
    (`find_variances`). Raises InputError for fewer than three rows or values that are not finite.
    """
    table, values = np.asarray(predictors, np.float64), np.asarray(response, np.float64)
    if table.ndim != 2 or values.shape != table.shape[:1]:
        raise InputError(
            f"values of shape {values.shape} do not fit predictors of shape {table.shape}",
            where="the response",
        )
    if not (np.isfinite(table).all() and np.isfinite(values).all()):
        raise InputError("not all values are finite", where="the predictors")
    count = len(values)
    if count < 3:
        raise InputError(
            f"{count} rows are too few for a model with a predictor",
            where="the response",
            remedy="Give three or more.",
        )
    if criterion == "cp" and variance is None:
        variance = float(find_variances(table, values)[0])
    columns, target = _standardize(table), _centre(values)
    most = min(count - 2, table.shape[1], count if largest is None else largest)

    def judge(rss: float, size: int) -> float:
        """The more the better."""
        sizes, rows = np.array(size), np.array(count)
        if criterion == "cp":
            return -float(find_cp(np.array(rss), np.array(variance), rows, sizes))
        return float(find_adjusted_r2(np.array(rss), np.array(target @ target), rows, sizes))

    members, path = _go_forward(columns, target, most, judge if direction == "forward" else None)
    if direction == "backward":
        members, path = _go_backward(columns, target, members, judge)
    rss = _fit(columns, target, members)
    value = judge(rss, len(members))
    return Selection(tuple(sorted(members)), rss, -value if criterion == "cp" else value, tuple(path))


def _go_forward(
    columns: FloatArray, target: FloatArray, most: int, judge: Callable[[float, int], float] | None
) -> tuple[list[int], list[int]]:
    rest, residual = columns.copy(), target.copy()
    total = float(target @ target)
    members: list[int] = []
    best = judge(total, 0) if judge else 0.0
    while len(members) < most and float(residual @ residual) > _EXACT * total:
        squares = (rest**2).sum(axis=0)
        usable = squares > _DEPENDENT
        usable[members] = False
        if not usable.any():
            break
        gains = np.where(usable, (rest.T @ residual) ** 2 / np.where(usable, squares, 1), -1.0)
        column = int(gains.argmax())
        axis = rest[:, column] / np.sqrt(squares[column])
        left = residual - axis * (axis @ residual)
        if judge:
            value = judge(_round_off(float(left @ left), total), len(members) + 1)
            # A constant response and a variance of 0 have no value; nothing improves on that.
            if not value > best:
                break
            best = value
        members.append(column)
        residual = left
        # Twice: once leaves what rounding leaves of a nearly dependent column.
        for _ in range(2):
            rest = rest - np.outer(axis, axis @ rest)
    return members, list(members)


def _go_backward(
    columns: FloatArray, target: FloatArray, members: list[int], judge: Callable[[float, int], float]
) -> tuple[list[int], list[int]]:
    kept, removed = sorted(members), list[int]()
    best = judge(_fit(columns, target, kept), len(kept))
    while kept:
        sums = [_fit(columns, target, [other for other in kept if other != column]) for column in kept]
        place = int(np.argmin(sums))
        value = judge(sums[place], len(kept) - 1)
        if value < best:
            break
        best = value
        removed.append(kept.pop(place))
    return kept, removed


def _fit(columns: FloatArray, target: FloatArray, members: list[int]) -> float:
    """Residual sum of squares."""
    total = float(target @ target)
    if not members:
        return total
    axes = np.linalg.qr(columns[:, members])[0]
    residual = target - axes @ (axes.T @ target)
    residual = residual - axes @ (axes.T @ residual)
    return _round_off(float(residual @ residual), total)


def _round_off(rss: float, total: float) -> float:
    return 0.0 if rss <= _EXACT * total else rss


def _centre(values: FloatArray) -> FloatArray:
    centred: FloatArray = values - values.mean(axis=0)
    return centred


def _standardize(table: FloatArray) -> FloatArray:
    """Columns without their means, of length 1; zeros for a constant one."""
    scale = np.abs(table).max(axis=0)
    columns = _centre(table / np.where(scale > 0, scale, 1))
    lengths = np.sqrt((columns**2).sum(axis=0))
    kept = lengths > 1e-13 * np.sqrt(len(table))
    found: FloatArray = np.where(kept, columns / np.where(kept, lengths, 1), 0)
    return found
