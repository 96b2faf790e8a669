"""What makes a linear model good although more predictors always fit better (thesis 2015, section 7.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from datamill.platforms.scores.score_matrix import FloatArray, IntArray

#: A model's quality: the more the better of adjusted R², the less of Mallows' Cp.
Criterion = Literal["adjusted-r2", "cp"]


def find_adjusted_r2(rss: FloatArray, totals: FloatArray, rows: IntArray, sizes: IntArray) -> FloatArray:
    """Adjusted R² of models by residual and total sum of squares: 1 - (RSS / (n - k - 1)) / (SST / (n - 1)).

    All shapes broadcast; `sizes` is k, the predictors without the intercept. NaN where no degree of freedom
    is left or the response is constant. Source: thesis 2015, equation 7.2, which has its two denominators
    exchanged; this is the usual form, and what R's `leaps` reports.
    """
    free = np.asarray(rows - sizes - 1, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 1 - (rss / free) / (totals / (rows - 1))
    return np.where((free > 0) & (np.asarray(totals) > 0), found, np.nan)


def find_cp(rss: FloatArray, variance: FloatArray, rows: IntArray, sizes: IntArray) -> FloatArray:
    """Mallows' Cp of models: RSS / variance - n + 2(k + 1), all shapes broadcast.

    It counts the intercept among the coefficients, as Mallows and R's `leaps` do; equation 7.3 of thesis 2015
    counts predictors, which is less by 2 for all models and ranks them alike. NaN without a positive
    variance. `find_variances` says which variance that is.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        found = rss / np.asarray(variance) - rows + 2 * (sizes + 1)
    return np.where(np.asarray(variance) > 0, found, np.nan)


def find_variances(
    predictors: FloatArray, responses: FloatArray, row_sets: Sequence[IntArray] | None = None
) -> FloatArray:
    """Variance of the error for Cp, from a model with all predictors, for each set of rows and response.

    Shapes: predictors (n × p), responses (n or n × q); result (S) or (S × q), in squared units of the
    response; without `row_sets` all rows are one set.

    Equation 7.3 (thesis 2015) divides by the mean square error of the model with all predictors. With
    n - p - 1 ≥ 1 that is what is returned, RSS / (n - p - 1) as in R's `leaps`; predictors that depend on
    others do not count. With more predictors that model fits exactly and has no mean square error: `leaps`
    divides by 0 (or by rounding), and its Cp is minus infinity. Its place takes a shrunken model with all
    predictors: ridge regression on standardized columns, its strength the one of smallest generalized
    cross-validation (Golub, Heath and Wahba 1979) among those that leave at least half of the n - 1 degrees
    of freedom, variance RSS / (n - 1 - trace of the smoother). Without that bound cross-validation of so few
    rows may choose no shrinkage and no error. It is not chosen by the response's fit among subsets, as that
    of the best model of a stated size is (`find_largest_variances`), which is far too small. 0 where the
    response is constant.
    """
    flat = responses.ndim == 1
    table = responses[:, None] if flat else responses
    sets = [np.arange(len(predictors))] if row_sets is None else row_sets
    found = np.empty((len(sets), table.shape[1]))
    by_count: dict[int, list[int]] = {}
    for number, rows in enumerate(sets):
        by_count.setdefault(len(rows), []).append(number)
    for numbers in by_count.values():
        for start in range(0, len(numbers), _TOGETHER):
            part = numbers[start : start + _TOGETHER]
            rows = np.array([sets[number] for number in part])
            found[part] = _shrink(predictors[rows], table[rows])
    return found[:, 0] if flat else found


def find_largest_variances(rss: FloatArray, rows: IntArray, free: int) -> FloatArray:
    """RSS / `free` of the best model that leaves `free` degrees of freedom, n - 1 - free predictors (S).

    `rss` (S × sizes) is that of `best_subsets`. NaN where no such size was searched. It is too small: the
    model is the best of many.
    """
    sizes = rows - 1 - free
    within = (sizes >= 1) & (sizes <= rss.shape[1])
    found = np.full(len(rss), np.nan)
    found[within] = rss[within, sizes[within] - 1] / free
    return found


#: Sets of rows that are worked on together, and strengths of shrinkage that are tried.
_TOGETHER, _STRENGTHS = 1024, 40
#: A direction of the predictors below this share of the largest is rounding.
_RANK = 1e-16


def _centre(columns: FloatArray) -> FloatArray:
    means: FloatArray = columns.mean(axis=1, keepdims=True)
    return columns - means


def _shrink(predictors: FloatArray, responses: FloatArray) -> FloatArray:
    """Variances (S × q) of sets with n rows each: predictors (S × n × p), responses (S × n × q)."""
    sets, count, _ = predictors.shape
    scale = np.abs(predictors).max(axis=1, keepdims=True)
    columns = _centre(predictors / np.where(scale > 0, scale, 1))
    lengths = np.sqrt((columns**2).sum(axis=1, keepdims=True))
    kept = lengths > 1e-13 * np.sqrt(count)
    columns = np.where(kept, columns / np.where(kept, lengths, 1), 0)
    # Directions of the rows with the predictors' squared singular values; that of the mean has none.
    values, axes = np.linalg.eigh(columns @ columns.transpose(0, 2, 1))
    largest = np.maximum(values[:, -1:], 1e-300)
    values = np.where(values > _RANK * count * largest * 1e3, values, 0)
    squares = (axes.transpose(0, 2, 1) @ _centre(responses)) ** 2
    outside = (values <= 0).sum(axis=1) - 1
    full = squares * (values <= 0)[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        unshrunken = full.sum(axis=1) / outside[:, None]
    wide = outside < 1
    if wide.any():
        unshrunken[wide] = _cross_validate(values[wide], squares[wide], count)
    found: FloatArray = unshrunken.reshape(sets, -1)
    return found


def _cross_validate(values: FloatArray, squares: FloatArray, count: int) -> FloatArray:
    """Variances (S × q) of the ridge models that cross-validate best."""
    top = values[:, -1:]
    strengths = top * np.logspace(-8, 2, _STRENGTHS)
    left = strengths[:, :, None] / (values[:, None, :] + strengths[:, :, None])
    # The mean is no part of what shrinks: its direction counts neither here nor in the squares.
    free = left.sum(axis=2) - 1
    rss = left**2 @ squares
    allowed = free >= (count - 1) / 2
    scores = np.where(allowed[:, :, None], rss / free[:, :, None] ** 2, np.inf)
    best = scores.argmin(axis=1)
    chosen = np.take_along_axis(rss, best[:, None, :], axis=1)[:, 0]
    found: FloatArray = chosen / np.take_along_axis(free, best, axis=1)
    return found
