"""Least squares for many small sets of rows at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.platforms.scores.score_matrix import FloatArray, IntArray

#: A predictor of which the others before it leave less than this share tells nothing of its own (R's `lm`).
_ALIASED = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class ManyFits:
    """Linear models, each with an intercept, of the rows of its own set.

    `members` (sets × most) are the columns in each model, -1 where it has fewer; columns that are constant on
    the rows of a set or a combination of those before them are left out, as R's `lm` does. `slopes` stand
    beside them (0 where there is no column). `predicted` (sets × rows) is for every row of the table;
    `rss` and `total` (sets) are sums of squares over the set's rows, `size` (sets) counts predictors.
    """

    members: IntArray
    slopes: FloatArray
    predicted: FloatArray
    rss: FloatArray
    total: FloatArray
    size: IntArray


def fit_many(columns: FloatArray, trained: IntArray, times: FloatArray, members: IntArray) -> ManyFits:
    """Fit a model for each set: `times` (sets × n) by `columns` (rows × any) in the rows of `trained`.

    `members` (sets × most) names the columns of each model in their order, -1 for none. A model with more
    predictors than n - 1 keeps the first of them that rows can tell apart.
    """
    kept, slopes = _solve(columns, trained, times, members)
    means = np.mean(times, axis=1)
    used = np.maximum(kept, 0)
    centres = columns[trained[:, :, None], used[:, None, :]].mean(axis=1)
    predicted = np.repeat(means[:, None], len(columns), axis=1)
    for place in range(kept.shape[1]):
        predicted += slopes[:, place, None] * (columns[:, used[:, place]].T - centres[:, place, None])
    fitted = np.take_along_axis(predicted, trained, axis=1)
    return ManyFits(
        members=kept,
        slopes=slopes,
        predicted=predicted,
        rss=np.sum((times - fitted) ** 2, axis=1),
        total=np.sum((times - means[:, None]) ** 2, axis=1),
        size=np.sum(kept >= 0, axis=1),
    )


def adjust_r2(fits: ManyFits, rows: int) -> FloatArray:
    """Adjusted R² of each model; NaN without a residual degree of freedom, or where nothing varies.

    1 - (SSE / (n - p - 1)) / (SST / (n - 1)): equation 7.2 of the thesis has its denominators exchanged.
    """
    free = rows - fits.size - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        value = 1 - (fits.rss / free) / (fits.total / (rows - 1))
    return np.where((free > 0) & (fits.total > 0), value, np.nan)


def _solve(
    columns: FloatArray, trained: IntArray, times: FloatArray, members: IntArray
) -> tuple[IntArray, FloatArray]:
    """Columns of each model that rows can tell apart, and their slopes."""
    members = _pack(members)
    slopes = np.zeros(members.shape)
    left = np.arange(len(trained))
    while left.size:
        again = []
        for size in np.unique(np.sum(members[left] >= 0, axis=1)):
            sets = left[np.sum(members[left] >= 0, axis=1) == size]
            if not size:
                continue
            x = columns[trained[sets][:, :, None], members[sets][:, None, :size]]
            spread = np.sqrt(np.sum(x**2, axis=1))
            x = x - x.mean(axis=1, keepdims=True)
            y = times[sets] - times[sets].mean(axis=1, keepdims=True)
            aliased = _find_aliased(x, spread)
            good = aliased < 0
            slopes[sets[good], :size] = _divide(x[good], y[good])
            bad = sets[~good]
            members[bad, aliased[~good]] = -1
            again.append(bad)
        left = np.concatenate(again) if again else np.zeros(0, dtype=np.int64)
        members[left] = _pack(members[left])
    return members, slopes


def _find_aliased(x: FloatArray, spread: FloatArray) -> IntArray:
    """The first column of each set that those before it leave nothing of, -1 for none; x is centred."""
    rows, size = x.shape[1:]
    aliased = np.zeros((len(x), size), dtype=bool)
    known = min(rows - 1, size)
    aliased[:, known:] = True
    if known:
        triangle = np.linalg.qr(x[:, :, :known], mode="r")
        left = np.abs(np.diagonal(triangle, axis1=1, axis2=2))
        aliased[:, :known] = left <= _ALIASED * spread[:, :known]
    return np.where(aliased.any(axis=1), np.argmax(aliased, axis=1), -1)


def _divide(x: FloatArray, y: FloatArray) -> FloatArray:
    """Slopes of centred times by centred columns of full rank."""
    if not len(x):
        return np.zeros((0, x.shape[2]))
    orthogonal, triangle = np.linalg.qr(x)
    projected = np.einsum("snk,sn->sk", orthogonal, y)
    return np.linalg.solve(triangle, projected[..., None])[..., 0]


def _pack(members: IntArray) -> IntArray:
    """Columns first, in their order, and the empty places behind them."""
    order = np.argsort(members < 0, axis=1, kind="stable")
    return np.take_along_axis(np.asarray(members, dtype=np.int64), order, axis=1)
