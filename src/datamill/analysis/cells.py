"""Distinct cells of a design: counts, means and squares within, all that least squares needs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datamill.experiment.errors import InputError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Pairs of labels whose meaning gives their order, low first.
_KNOWN_PAIRS = (("-", "+"), ("−", "+"), ("low", "high"))
#: Beyond these magnitudes squares leave the range of a double.
_LARGEST, _SMALLEST = 1e150, 1e-150


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor with its levels; of two levels the first is low (−1) and the second high (+1)."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Observations gathered by design point.

    K cells with data, f factors, n observations. `codes` (K × f) are level indices, `counts` (K),
    `means` (K) and `values` (n) are deviations from `origin`, which is one of the observations: so
    that a large common offset costs no digits. `within_ss` (K) are sums of squares about each
    cell's mean and `of_row` (n) the cell of every observation.
    """

    factors: tuple[Factor, ...]
    codes: IntArray
    counts: IntArray
    origin: float
    means: FloatArray
    within_ss: FloatArray
    of_row: IntArray
    values: FloatArray

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

    @property
    def rounding_ss(self) -> float:
        """Sum of squares that rounding of the observations alone can make; less than this is zero."""
        largest = max(abs(self.origin), float(np.max(np.abs(self.values + self.origin))))
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


def encode_levels(labels: Sequence[str], factor: Factor) -> IntArray:
    """Level index of every label; raises InputError for a label that is not a level of the factor."""
    distinct, inverse = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
    index = {level: position for position, level in enumerate(factor.levels)}
    for label in distinct:
        if str(label) not in index:
            raise InputError(
                f'factor {factor.name} has no level "{label}"',
                remedy=f"Its levels are: {', '.join(factor.levels)}.",
            )
    codes = np.array([index[str(label)] for label in distinct], dtype=np.int64)
    return codes[inverse.reshape(-1)]


def gather_cells(factors: Sequence[Factor], codes: IntArray, values: FloatArray) -> Cells:
    """Gather n observations (codes n × f, values n) by design point.

    Raises:
        InputError: there are no observations, one is not finite, or squares would overflow.
    """
    observed = np.asarray(values, dtype=np.float64)
    if observed.size == 0:
        raise InputError("there are no observations", remedy="Give a table with at least one row.")
    if not np.all(np.isfinite(observed)):
        row = int(np.flatnonzero(~np.isfinite(observed))[0]) + 1
        raise InputError(f"observation {row} is not a finite number", remedy="Remove or correct it.")
    largest = float(np.max(np.abs(observed)))
    if largest > _LARGEST or 0 < largest < _SMALLEST:
        raise InputError(
            f"values of magnitude {largest:.1e} cannot be squared in double precision",
            remedy="Give the response in another unit.",
        )
    codes = np.asarray(codes, dtype=np.int64).reshape(observed.size, len(factors))
    # The middle observation as origin: exact differences when the spread is small against the offset,
    # and the same for every order of the rows.
    origin = float(np.partition(observed, observed.size // 2)[observed.size // 2])
    deviations = observed - origin
    distinct, of_row = _find_distinct(codes, factors)
    count = distinct.shape[0]
    counts = np.bincount(of_row, minlength=count).astype(np.int64)
    means = np.bincount(of_row, weights=deviations, minlength=count) / counts
    means += np.bincount(of_row, weights=deviations - means[of_row], minlength=count) / counts
    residuals = deviations - means[of_row]
    squares = np.bincount(of_row, weights=residuals**2, minlength=count)
    correction = np.bincount(of_row, weights=residuals, minlength=count) ** 2 / counts
    return Cells(
        factors=tuple(factors),
        codes=distinct,
        counts=counts,
        origin=origin,
        means=means,
        within_ss=np.maximum(squares - correction, 0.0),
        of_row=of_row,
        values=deviations,
    )


def _find_distinct(codes: IntArray, factors: Sequence[Factor]) -> tuple[IntArray, IntArray]:
    """Distinct rows of codes, sorted, and the index of each row among them."""
    sizes = [len(factor.levels) for factor in factors]
    if not sizes or math.prod(sizes) >= 1 << 62:
        distinct, of_row = np.unique(codes, axis=0, return_inverse=True)
        return distinct.astype(np.int64), of_row.reshape(-1).astype(np.int64)
    # One number for each combination sorts an order of magnitude faster than rows do.
    keys, of_row = np.unique(np.ravel_multi_index(tuple(codes.T), sizes), return_inverse=True)
    distinct = np.stack(np.unravel_index(keys, sizes), axis=1)
    return distinct.astype(np.int64), of_row.reshape(-1).astype(np.int64)
