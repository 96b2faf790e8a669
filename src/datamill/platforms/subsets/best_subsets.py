"""The best subset of predictors of each size, or by a criterion: exact, for many sets of rows in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from datamill import _native
from datamill.experiment.errors import InputError
from datamill.platforms.scores.score_matrix import FloatArray, IntArray
from datamill.platforms.subsets.criteria import Criterion, find_adjusted_r2, find_cp, find_variances
from datamill.platforms.subsets.effort import check_effort

_Value = TypeVar("_Value", bound=np.generic)

#: Most predictors: a set of them is one word.
MOST_PREDICTORS = 63
#: In place of a number of ties that was not counted because a smaller subset fits exactly.
NOT_COUNTED = -1


@dataclass(frozen=True, slots=True, eq=False)
class BestSubsets:
    """The best subset of each size from 1 to K, for each of S sets of rows.

    `rss` (S × K) is the residual sum of squares, NaN where no subset of that size has linearly independent
    columns; `members` (S × K × K) are the columns, ascending, then -1; `ties` (S × K) the number of other
    subsets that are as good (relative distance of the sums up to 1e-8), -1 where the fit is exact and they
    were not counted. `totals` (S) are total sums of squares, `rows` (S) numbers of rows.
    """

    rss: FloatArray
    members: IntArray
    ties: IntArray
    total: FloatArray
    rows: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class CriterionSubsets:
    """The subset that is best by a criterion, for each of S sets of rows; none of the predictors is one too.

    `members` (S × K) are its columns, ascending, then -1; `size` (S) their number; `rss` (S) the residual and
    `total` (S) the total sum of squares; `value` (S) adjusted R² or Cp, NaN where it is not defined: fewer
    than two rows, a constant response, no variance. `ties` as in `BestSubsets`, over all sizes.
    """

    members: IntArray
    size: IntArray
    rss: FloatArray
    value: FloatArray
    ties: IntArray
    total: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class EachColumn:
    """The best subsets of the other columns for each column in turn: entry q·s + c is set s, column c.

    A column that is constant in a set has size 0, no members and NaN as residual sum of squares.
    """

    by_adjusted_r2: CriterionSubsets
    by_cp: CriterionSubsets


def best_subsets(
    predictors: FloatArray,
    response: FloatArray,
    row_sets: Sequence[IntArray] | None = None,
    largest: int | None = None,
) -> BestSubsets:
    """Find the subset of each size up to `largest` with the smallest residual sum of squares, with intercept.

    Shapes: predictors (n × p), p up to 63; response (n); `row_sets` index rows, all rows are one set without
    it. Exact: all subsets are searched but for those that a bound excludes (Furnival and Wilson 1974).
    Columns that depend on others (what is left of their length is below 1e-8) are never both in one subset.
    An RSS below 1e-22 of the total is 0; larger subsets fit exactly too and are not searched. Of subsets that
    tie, the one with the earlier columns is returned. Results do not depend on the number of threads. Without
    `largest` all sizes are searched. Raises InputError for values that are not finite, shapes or rows that do
    not fit, `largest` below 1, more subsets than can be searched (`effort.check_effort`).
    """
    table, values = _check(predictors, response)
    largest = table.shape[1] if largest is None else largest
    if largest < 1:
        raise InputError(f"{largest} predictors are not at least 1", where="the largest size")
    rows, offsets = _join(row_sets, len(table))
    width = min(largest, table.shape[1])
    check_effort(table.shape[1], width, np.diff(offsets))
    rss, members, ties, total = _native.best_of_sizes(table, values, rows, offsets, width)
    sets = len(offsets) - 1
    missing = largest - width
    return BestSubsets(
        _widen(rss.reshape(sets, width), ((0, 0), (0, missing)), np.nan),
        _widen(members.reshape(sets, width, width), ((0, 0), (0, missing), (0, missing)), -1),
        _widen(ties.reshape(sets, width), ((0, 0), (0, missing)), 0),
        total,
        np.diff(offsets),
    )


def best_by_criterion(
    predictors: FloatArray,
    response: FloatArray,
    row_sets: Sequence[IntArray] | None = None,
    criterion: Criterion = "adjusted-r2",
    largest: int | None = None,
    variance: FloatArray | None = None,
) -> CriterionSubsets:
    """Find the subset that is best by adjusted R² or Cp among all with up to `largest` predictors, also none.

    Subsets have at most n - 2 predictors, so that a degree of freedom is left. `variance` (S) is what Cp
    divides by, `find_variances` without it. Shapes, exactness and errors as in `best_subsets`.
    """
    table, values = _check(predictors, response)
    rows, offsets = _join(row_sets, len(table))
    width = table.shape[1] if largest is None else min(largest, table.shape[1])
    if width < 0:
        raise InputError(f"{largest} predictors are fewer than none", where="the largest size")
    counts = np.diff(offsets)
    # What the penalty for size leaves by Cp are small subsets.
    check_effort(table.shape[1], width, counts, bounded=criterion == "cp")
    variances = np.full(len(counts), np.nan)
    if criterion == "cp":
        sets = np.split(rows, offsets[1:-1])
        variances = (
            find_variances(table, values, sets) if variance is None else np.asarray(variance, np.float64)
        )
        if variances.shape != counts.shape:
            raise InputError(
                f"{variances.size} variances for {len(counts)} sets of rows", where="the variance"
            )
    found = _native.best_by_criterion(table, values, rows, offsets, criterion == "cp", width, variances)
    return _describe(found, width, criterion, counts, variances)


def best_of_each_column(
    table: FloatArray,
    row_sets: Sequence[IntArray] | None = None,
    *,
    largest: int | None = None,
    variances: FloatArray | None = None,
) -> EachColumn:
    """Take each column in turn for the response and the others for predictors (thesis 2015, section 7.5).

    One search of subsets serves all columns, which is far quicker than `best_by_criterion` for each column,
    most of all without `largest` where there are fewer rows than columns. `table` is n × q, `variances`
    S × q. Where there are more rows than columns nothing is pruned: 2^q subsets are searched. Otherwise as
    `best_by_criterion`.
    """
    values = _check_table(table)
    rows, offsets = _join(row_sets, len(values))
    width = values.shape[1] if largest is None else min(largest, values.shape[1])
    counts = np.diff(offsets)
    # Nothing is pruned, however many rows there are.
    check_effort(values.shape[1], width, np.minimum(counts, values.shape[1] + 1))
    if variances is None:
        sets = np.split(rows, offsets[1:-1])
        variances = np.empty((len(sets), values.shape[1]))
        for column in range(values.shape[1]):
            others = np.delete(values, column, axis=1)
            variances[:, column] = find_variances(others, values[:, column], sets)
    flat = np.ascontiguousarray(variances, dtype=np.float64).ravel()
    by_r2, by_cp = _native.best_of_each(values, rows, offsets, width, flat)
    counts = np.repeat(counts, values.shape[1])
    return EachColumn(
        _describe(by_r2, width, "adjusted-r2", counts, flat), _describe(by_cp, width, "cp", counts, flat)
    )


def _widen(values: NDArray[_Value], widths: tuple[tuple[int, int], ...], filling: float) -> NDArray[_Value]:
    """`np.pad`, which takes as long as a small search also where nothing is missing."""
    if not any(after for _, after in widths):
        return values
    return np.pad(values, widths, constant_values=filling)


def _describe(
    found: tuple[FloatArray, IntArray, IntArray, FloatArray],
    width: int,
    criterion: Criterion,
    counts: IntArray,
    variances: FloatArray,
) -> CriterionSubsets:
    rss, members, ties, total = found
    members = members.reshape(len(rss), width)
    size = (members >= 0).sum(axis=1)
    if criterion == "cp":
        value = find_cp(rss, variances, counts, size)
    else:
        value = find_adjusted_r2(rss, total, counts, size)
    return CriterionSubsets(members, size, rss, value, ties, total)


def _check_table(table: FloatArray) -> FloatArray:
    values = np.ascontiguousarray(table, dtype=np.float64)
    where = "the predictors"
    if values.ndim != 2 or not 1 <= values.shape[1] <= MOST_PREDICTORS:
        raise InputError(
            f"an array of shape {values.shape} is not rows × predictors, 1 to {MOST_PREDICTORS} of these",
            where=where,
        )
    if not np.isfinite(values).all():
        raise InputError("not all values are finite", where=where, remedy="Leave out rows with gaps.")
    return values


def _check(predictors: FloatArray, response: FloatArray) -> tuple[FloatArray, FloatArray]:
    table = _check_table(predictors)
    values = np.ascontiguousarray(response, dtype=np.float64)
    where = "the response"
    if values.shape != table.shape[:1]:
        raise InputError(f"values of shape {values.shape} do not fit {len(table)} rows", where=where)
    if not np.isfinite(values).all():
        raise InputError("not all values are finite", where=where, remedy="Leave out rows with gaps.")
    return table, values


def _join(row_sets: Sequence[IntArray] | None, count: int) -> tuple[IntArray, IntArray]:
    """Sets one after the other, and where each begins."""
    if row_sets is None:
        return np.arange(count, dtype=np.int64), np.array([0, count], dtype=np.int64)
    sets = [np.asarray(rows, np.int64) for rows in row_sets]
    rows = np.concatenate([*sets, np.empty(0, np.int64)])
    if rows.size and (rows.min() < 0 or rows.max() >= count):
        raise InputError(f"a row is not from 0 to {count - 1}", where="the sets of rows")
    offsets = np.cumsum([0, *(len(part) for part in sets)])
    return rows.astype(np.int64), offsets.astype(np.int64)
