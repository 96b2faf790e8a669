"""Covering arrays: few points in which all combinations of levels of any t factors occur."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from datamill.design.seeds import rank_by_seed
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_count

#: Combinations that are kept track of.
_MOST_COMBINATIONS = 2_000_000
#: A place in a row that any level may take.
_FREE = -1

Row = tuple[int, ...]
IntArray = NDArray[np.int32]


@functools.lru_cache(maxsize=8)
def build_covering_array(sizes: tuple[int, ...], strength: int, seed: int) -> tuple[Row, ...]:
    """Return points (as indices of levels) in which every combination of levels of any t factors occurs.

    IPOG (Lei et al. 2007): all combinations of the t largest factors first, then one factor after the other,
    by horizontal growth (the level that covers most) and vertical growth (rows for what is left). What may be
    any level is drawn from the seed.

    Args:
        sizes: number of levels of each factor.
        strength: t; from 2. With no more than t factors the array is the full factorial.
        seed: of the experiment.

    Raises:
        InputError: there are more than two million combinations to cover.
    """
    order = sorted(range(len(sizes)), key=lambda factor: -sizes[factor])
    ordered = [sizes[factor] for factor in order]
    strength = min(strength, len(sizes))
    _refuse_too_many(ordered, strength)
    rows = np.indices(ordered[:strength], dtype=np.int32).reshape(strength, -1).T
    for factor in range(strength, len(ordered)):
        rows = _add_factor(rows, ordered[: factor + 1], strength)
    for number, at in zip(*np.nonzero(rows == _FREE), strict=True):
        drawn = rank_by_seed(seed, "free", str(number), str(at))
        rows[number, at] = int.from_bytes(drawn[:8], "big") % ordered[at]
    place = np.argsort(order)
    # Levels that were free may have made two rows alike: a point is listed once.
    return tuple(dict.fromkeys(map(tuple, rows[:, place].tolist())))


def _refuse_too_many(sizes: Sequence[int], strength: int) -> None:
    count = 0
    for factors in itertools.combinations(sizes, strength):
        count += math.prod(factors)
        if count > _MOST_COMBINATIONS:
            raise InputError(
                f"there are more than {format_count(_MOST_COMBINATIONS)} combinations of {strength} "
                "factors to cover",
                where="[experiment] strength",
                remedy="Lower strength, or name fewer factors or levels.",
            )


def _add_factor(rows: IntArray, sizes: Sequence[int], strength: int) -> IntArray:
    """Return the rows with a level of one more factor, the last of `sizes`, and rows for what remains."""
    last = len(sizes) - 1
    groups = np.array(list(itertools.combinations(range(last), strength - 1)))
    # All combinations of a group with the new factor are bits side by side, the new factor's level the last.
    counts = np.array([[sizes[at] for at in group] for group in groups], dtype=np.int64)
    strides = np.cumprod(np.c_[counts[:, 1:], np.full(len(groups), sizes[last])][:, ::-1], axis=1)[:, ::-1]
    lengths = counts[:, 0] * strides[:, 0]
    starts = np.cumsum(lengths) - lengths
    missing = np.ones(int(lengths.sum()), dtype=np.bool_)
    levels = np.arange(sizes[last])
    column = np.full(len(rows), _FREE, dtype=np.int32)
    for number, row in enumerate(rows):
        places = row[groups]
        known = ~np.any(places == _FREE, axis=1)
        first = (starts + np.sum(places * strides, axis=1))[known]
        gains = np.count_nonzero(missing[first[:, None] + levels], axis=0)
        best = np.flatnonzero(gains == gains.max())
        if gains[best[0]]:
            level = best[number % len(best)]
            column[number] = level
            missing[first + level] = False
    rows = np.c_[rows, column]
    grown = _Rows(rows)
    for group, start, stride in zip(groups, starts, strides, strict=True):
        length = sizes[group[0]] * stride[0]
        for code in np.flatnonzero(missing[start : start + length]):
            wanted = [*(int(code // size) % sizes[at] for at, size in zip(group, stride, strict=True))]
            grown.place([*(int(at) for at in group), last], [*wanted, int(code) % sizes[last]])
    return grown.rows


class _Rows:
    """Rows to which combinations are added, with room for more than there are."""

    def __init__(self, rows: IntArray) -> None:
        self._room = rows
        self._count = len(rows)

    @property
    def rows(self) -> IntArray:
        return self._room[: self._count]

    def place(self, factors: Sequence[int], levels: Sequence[int]) -> None:
        """Put a combination into a row that leaves room for it, or into one of its own."""
        there = self.rows[:, factors]
        same = there == np.array(levels, dtype=np.int32)
        if np.any(np.all(same, axis=1)):
            return
        fitting = np.all(same | (there == _FREE), axis=1)
        at = int(np.argmax(fitting)) if np.any(fitting) else self._count
        if at == self._count:
            if at == len(self._room):
                more = np.full((16 + at // 8, self._room.shape[1]), _FREE, dtype=np.int32)
                self._room = np.concatenate([self._room, more])
            self._count += 1
        self._room[at, factors] = levels
