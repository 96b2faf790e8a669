"""Distinct cells of a design: counts, means and squares within, all that least squares needs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datamill._native import gather_moments, number_combinations
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_figures

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
CellArray = NDArray[np.uint32]
#: The level of every row as its index: a byte where there are few levels.
CodeArray = NDArray[np.uint8] | NDArray[np.uint32]

#: Pairs of labels whose meaning gives their order, low first.
_KNOWN_PAIRS = (("-", "+"), ("−", "+"), ("low", "high"))
#: Beyond these magnitudes squares leave the range of a double.
LARGEST_SQUARED, SMALLEST_SQUARED = 1e150, 1e-150
#: Share of an origin below which observations lose digits that matter when it is subtracted.
_SMALL_BESIDE = 1e-6


@dataclass(frozen=True, slots=True)
class ModelFactor:
    """A factor with its levels; of two levels the first is low (−1) and the second high (+1)."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Observations gathered by design point.

    K cells with data, f factors, n observations. `codes` (K × f) are level indices, `counts` (K),
    `means` (K) and `values` (n) are deviations from `origin`, which is one of the observations: so
    that a large common offset costs no digits. `within_ss` (K) are sums of squares about each
    cell's mean, `lows` and `highs` (K) the extreme deviations, and `of_row` (n) the cell of every
    observation. `builds` (n) numbers the build of every observation where cells have builds in common,
    so that their means are not independent; else None.
    """

    factors: tuple[ModelFactor, ...]
    codes: IntArray
    counts: IntArray
    origin: float
    means: FloatArray
    within_ss: FloatArray
    lows: FloatArray
    highs: FloatArray
    of_row: CellArray
    values: FloatArray
    builds: IntArray | None = None

    @property
    def n(self) -> int:
        """Number of observations."""
        return int(self.values.size)

    @property
    def possible(self) -> int:
        """Number of combinations of levels, with data or without."""
        count = 1
        for factor in self.factors:
            count *= len(factor.levels)
        return count

    @property
    def balanced(self) -> bool:
        """Whether every combination of levels has the same number of observations."""
        return self.counts.size == self.possible and bool(np.all(self.counts == self.counts[0]))

    def count_builds(self, factor: int | None, level: str) -> tuple[int, int] | None:
        """Builds with data at a level of a factor (of all without one), and the most cells that share one.

        None where every observation stands for a build of its own.
        """
        if self.builds is None:
            return None
        chosen = np.ones(self.n, dtype=np.bool_)
        if factor is not None:
            chosen = self.codes[self.of_row, factor] == self.factors[factor].levels.index(level)
        numbers = np.bincount(self.builds[chosen])
        return int(np.sum(numbers > 0)), int(numbers.max())

    @property
    def rounding_ss(self) -> float:
        """Sum of squares that rounding of the observations alone can make; less than this is zero."""
        ends = (float(np.min(self.lows)), float(np.max(self.highs)))
        largest = max(abs(self.origin), *(abs(end + self.origin) for end in ends))
        return self.n * (4.0 * np.finfo(np.float64).eps * largest) ** 2


def order_levels(labels: Iterable[str]) -> tuple[str, ...]:
    """Distinct labels in an order that does not depend on the order of the rows.

    `-` before `+` and `low` before `high`; numbers by value; other labels as a reader sorts them
    (`10MB` before `100MB`, `off` before `on`).
    """
    distinct = set(labels)
    for pair in _KNOWN_PAIRS:
        if {label.strip().lower() for label in distinct} == set(pair):
            return tuple(sorted(distinct, key=lambda label: pair.index(label.strip().lower())))
    try:
        numbers = {label: float(label) for label in distinct}
    except ValueError:
        numbers = {}
    if numbers and all(math.isfinite(number) for number in numbers.values()):
        return tuple(sorted(distinct, key=lambda label: (numbers[label], label)))
    return tuple(sorted(distinct, key=_natural_key))


def _natural_key(label: str) -> tuple[tuple[int, float, str], ...]:
    parts = re.findall(r"\d+|\D+", label)
    key = tuple((0, float(part), "") if part.isdecimal() else (1, 0.0, part.lower()) for part in parts)
    return (*key, (2, 0.0, label))


def gather_cells(
    factors: Sequence[ModelFactor], codes: IntArray | Sequence[NDArray[np.integer[Any]]], values: FloatArray
) -> Cells:
    """Gather n observations by design point: values n; codes n × f, or a column of n for each factor.

    Raises:
        InputError: there are no observations, one is not finite, or squares would overflow.
    """
    observed = np.ascontiguousarray(values, dtype=np.float64)
    if observed.size == 0:
        raise InputError("there are no observations", remedy="Give a table with at least one row.")
    low, high = float(np.min(observed)), float(np.max(observed))
    # An extreme is NaN where one value is.
    if not math.isfinite(low) or not math.isfinite(high):
        row = int(np.flatnonzero(~np.isfinite(observed))[0]) + 1
        raise InputError(f"observation {row} is not a finite number", remedy="Remove or correct it.")
    refuse_magnitude(low, high)
    columns = tuple(codes.T) if isinstance(codes, np.ndarray) else tuple(codes)
    origin = _choose_origin(observed, low, high)
    distinct, of_row = _find_distinct(columns, factors, observed.size)
    counts, means, within_ss, lows, highs = gather_moments(of_row, observed, distinct.shape[0], origin)
    return Cells(
        factors=tuple(factors),
        codes=distinct,
        counts=counts,
        origin=origin,
        means=means,
        within_ss=within_ss,
        lows=lows,
        highs=highs,
        of_row=of_row,
        values=observed - origin,
    )


def merge_cells(cells: Cells, kept: Sequence[int]) -> Cells:
    """The same observations, told apart by some of the factors only."""
    codes = [cells.codes[:, index].astype(np.int32)[cells.of_row] for index in kept]
    return gather_cells([cells.factors[index] for index in kept], codes, cells.values + cells.origin)


def refuse_magnitude(low: float, high: float) -> None:
    """Raise InputError where squares of values from `low` to `high` would leave the range of a double."""
    largest = max(-low, high)
    if largest > LARGEST_SQUARED or 0 < largest < SMALLEST_SQUARED:
        raise InputError(
            f"values of magnitude {format_figures(largest, 2)} cannot be squared in double precision",
            remedy="Give the response in another unit.",
        )


def refuse_missing_levels(cells: Cells, index: int) -> None:
    """Raise InputError unless the factor has data at two levels or more, and at every level it names."""
    factor, seen = cells.factors[index], np.unique(cells.codes[:, index])
    if seen.size < 2:
        raise InputError(
            f'factor {factor.name} has only one level with data: "{factor.levels[int(seen[0])]}"',
            remedy="Leave the factor out, or add data at another level.",
        )
    if seen.size < len(factor.levels):
        missing = [level for code, level in enumerate(factor.levels) if code not in seen]
        raise InputError(
            f"factor {factor.name} has no data at level {', '.join(missing)}",
            remedy="Leave the level out, or add data at it.",
        )


def _choose_origin(observed: FloatArray, low: float, high: float) -> float:
    """The middle one of (a million of) the observations: differences from it are exact where the spread is
    small against a common offset.

    Zero where some observation is far smaller: of that the difference would keep no digits.
    """
    chosen = observed[:: max(1, observed.size >> 20)]
    origin = float(np.partition(chosen, chosen.size // 2)[chosen.size // 2])
    smallest = min(abs(low), abs(high))
    if low <= 0 <= high:
        smallest = float(np.min(np.abs(observed), where=observed != 0, initial=np.inf))
    return origin if smallest >= _SMALL_BESIDE * abs(origin) else 0.0


def _find_distinct(
    columns: Sequence[NDArray[np.integer[Any]]], factors: Sequence[ModelFactor], n: int
) -> tuple[IntArray, CellArray]:
    """Distinct rows of codes, sorted, and the index of each row among them."""
    sizes = [len(factor.levels) for factor in factors]
    if not sizes:
        return np.zeros((1, 0), dtype=np.int64), np.zeros(n, dtype=np.uint32)
    possible = math.prod(sizes)
    if possible >= 1 << 62:
        rows, numbers = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        return rows.astype(np.int64), numbers.reshape(-1).astype(np.uint32)
    if possible < 1 << 32 and possible <= 4 * n + 1024:
        found, of_row = number_combinations([_make_codes(column) for column in columns], sizes)
        keys: IntArray = found.astype(np.int64)
    else:
        # One number for each combination is found an order of magnitude faster than rows are.
        combination = np.zeros(n, dtype=np.int64)
        for column, size in zip(columns, sizes, strict=True):
            combination = combination * size + column
        keys, numbers = np.unique(combination, return_inverse=True)
        of_row = numbers.reshape(-1).astype(np.uint32)
    distinct = np.stack(np.unravel_index(keys, sizes), axis=1)
    return distinct.astype(np.int64), of_row


def _make_codes(column: NDArray[np.integer[Any]]) -> CodeArray:
    """The column in one of the widths that the kernel reads."""
    if column.dtype == np.uint8:
        return np.ascontiguousarray(column, dtype=np.uint8)
    return np.ascontiguousarray(column, dtype=np.uint32)
