"""Regular fractions of two-level factorial designs, 2^(k-p): the smallest of a resolution."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datamill.design.seeds import rank_by_seed
from datamill.experiment.errors import InputError

#: Points beyond which no fraction is looked for.
_MOST_POINTS = 1 << 12
#: Factors beyond which no fraction is looked for either: the search goes as deep as there are factors.
_MOST_FACTORS = 500
#: Sets of generators that are compared in full; beyond it, descents from drawn starts.
_MOST_SETS = 13_000
_STARTS = 12
#: Exchanges that a descent tries.
_MOST_EXCHANGES = 1500
#: Steps of a search for generators before a larger fraction is tried.
_MOST_STEPS = 60_000
#: Words of the defining relation are counted up to this length.
_LONGEST_WORD = 8


@dataclass(frozen=True, slots=True)
class Fraction:
    """A regular fraction of k two-level factors in 2^basic points.

    `columns` are the k factors as sets of basic factors (bit i: the i-th): the first `basic` ones are
    themselves, each further one is the product of its set (its generator). `resolution` is the length of the
    shortest word of the defining relation, 0 for the full factorial; `words` counts those of length 3, 4, ….
    """

    basic: int
    columns: tuple[int, ...]
    resolution: int
    words: tuple[int, ...]

    @property
    def points(self) -> int:
        """Number of design points."""
        return 1 << self.basic

    def list_signs(self) -> NDArray[np.int64]:
        """Return the points (2^basic x k, entries -1 and 1), the last basic factor changing fastest."""
        bits = np.array(list(itertools.product((-1, 1), repeat=self.basic)), dtype=np.int64)
        bits = bits.reshape(self.points, self.basic)
        return np.stack(
            [
                np.prod(bits[:, [i for i in range(self.basic) if column >> i & 1]], axis=1)
                for column in self.columns
            ],
            axis=1,
        )


@functools.lru_cache(maxsize=64)
def find_fraction(factors: int, resolution: int) -> Fraction:
    """Return the smallest regular fraction with at least a resolution, of those found with few short words.

    Its size is the smallest that is known up to resolution IV; from V on, the smallest that a bounded search
    finds. Among fractions of that size the one with the fewest shortest words is taken (minimum aberration,
    Fries and Hunter 1980) of all sets of generators where they are few, else of those that descents from
    drawn starts reach.

    Args:
        factors: k, at least 1.
        resolution: from 3.

    Raises:
        InputError: the fraction would have more than 4096 points, or there are more than 500 factors.
    """
    if factors > _MOST_FACTORS:
        raise InputError(
            f"{factors} factors are more than a fraction here takes ({_MOST_FACTORS})",
            remedy="Name fewer factors.",
        )
    for basic in range(1, factors + 1):
        if 1 << basic > _MOST_POINTS:
            break
        if basic == factors:
            return Fraction(basic, tuple(1 << i for i in range(basic)), 0, ())
        if not _may_exist(factors, basic, resolution):
            continue
        start = _find_generators(factors - basic, basic, resolution)
        if start is None:
            continue
        generators = _improve(start, basic, resolution)
        columns = (*(1 << i for i in range(basic)), *generators)
        words = _count_words(columns, basic)
        shortest = next((length for length, count in enumerate(words, start=3) if count), _LONGEST_WORD + 1)
        return Fraction(basic, columns, shortest, words)
    raise InputError(
        f"a fraction of {factors} factors with resolution {resolution} has more than {_MOST_POINTS} points",
        remedy='Ask for a lower resolution, name fewer factors, or use design = "d-optimal".',
    )


def _may_exist(factors: int, basic: int, resolution: int) -> bool:
    """Whether counting allows it: sums of up to half of resolution - 1 columns must all differ (Rao 1947)."""
    reach = (resolution - 1) // 2
    needed = sum(math.comb(factors, size) for size in range(reach + 1))
    if resolution % 2 == 0:
        needed += math.comb(factors - 1, reach)
    return needed <= 1 << basic


def _find_generators(count: int, basic: int, resolution: int) -> tuple[int, ...] | None:
    """The first set of generators, in the order of their numbers, that has the resolution (a lexicode's)."""
    candidates = [column for column in range(1, 1 << basic) if column.bit_count() >= resolution - 1]
    if resolution == 4:
        # All products of an odd number of factors: half of all columns, and never a word of three.
        candidates = sorted(candidates, key=lambda column: (column.bit_count() % 2 == 0, column))
    basics = [1 << i for i in range(basic)]
    steps = 0

    def extend(chosen: list[int], sums: list[set[int]], start: int) -> list[int] | None:
        nonlocal steps
        if len(chosen) == count:
            return chosen
        for at in range(start, len(candidates)):
            steps += 1
            if steps > _MOST_STEPS or len(candidates) - at < count - len(chosen):
                return None
            column = candidates[at]
            if not any(column in level for level in sums):
                found = extend([*chosen, column], _add_column(sums, column), at + 1)
                if found is not None:
                    return found
        return None

    sums: list[set[int]] = [{0}, *(set() for _ in range(resolution - 2))]
    for column in basics:
        sums = _add_column(sums, column)
    found = extend([], sums, 0)
    return None if found is None else tuple(found)


def _add_column(sums: list[set[int]], column: int) -> list[set[int]]:
    """Sums of exactly 0, 1, 2, … columns, with one more column among them."""
    return [
        level if size == 0 else level | {column ^ other for other in sums[size - 1]}
        for size, level in enumerate(sums)
    ]


def _improve(start: tuple[int, ...], basic: int, resolution: int) -> tuple[int, ...]:
    """Generators with the fewest short words, first of length 3, then 4, …."""
    candidates = [column for column in range(1, 1 << basic) if column.bit_count() >= resolution - 1]
    basics = tuple(1 << i for i in range(basic))

    def rate(generators: tuple[int, ...]) -> tuple[int, ...]:
        return _count_words((*basics, *generators), basic)

    if math.comb(len(candidates), len(start)) <= _MOST_SETS:
        return min(itertools.combinations(candidates, len(start)), key=rate)
    best, best_words = start, rate(start)
    starts = [start]
    # A fraction of a higher resolution, where there is one of this size, is the best of all.
    if higher := _find_generators(len(start), basic, resolution + 1):
        starts.append(higher)
    for number in range(_STARTS):
        drawn = sorted(candidates, key=lambda column: rank_by_seed(number, "generator", str(column)))
        starts.append(tuple(drawn[: len(start)]))
    for generators in starts:
        found, words = _descend(generators, candidates, rate)
        if words < best_words:
            best, best_words = found, words
    return tuple(sorted(best))


def _descend(
    generators: tuple[int, ...], candidates: list[int], rate: Callable[[tuple[int, ...]], tuple[int, ...]]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Exchange one generator after the other as long as that leaves fewer short words."""
    words = rate(generators)
    budget = _MOST_EXCHANGES
    improved = True
    while improved and budget > 0:
        improved = False
        for at in range(len(generators)):
            for column in candidates:
                if column in generators:
                    continue
                budget -= 1
                changed = (*generators[:at], column, *generators[at + 1 :])
                found = rate(changed)
                if found < words:
                    generators, words, improved = changed, found, True
            if budget <= 0:
                break
    return generators, words


@functools.lru_cache(maxsize=8)
def _list_parities(basic: int) -> NDArray[np.uint8]:
    """Parity of the common bits of each column (row) and each point (column): 2^basic x 2^basic."""
    numbers = np.arange(1 << basic, dtype=np.uint32)
    common = numbers[:, None] & numbers
    for shift in (16, 8, 4, 2, 1):
        common ^= common >> np.uint32(shift)
    return (common & 1).astype(np.uint8)


@functools.lru_cache(maxsize=64)
def _list_krawtchouk(factors: int) -> NDArray[np.float64]:
    """Krawtchouk polynomials K_j(i) for j = 3 … 8 (rows) and i = 0 … factors."""
    rows = []
    for length in range(3, min(_LONGEST_WORD, factors) + 1):
        rows.append(
            [
                sum(
                    (-1) ** s * math.comb(i, s) * math.comb(factors - i, length - s)
                    for s in range(length + 1)
                )
                for i in range(factors + 1)
            ]
        )
    return np.array(rows, dtype=np.float64).reshape(-1, factors + 1)


def _count_words(columns: tuple[int, ...], basic: int) -> tuple[int, ...]:
    """Words of length 3, 4, … 8 of the defining relation, from the points' distances (MacWilliams 1963).

    Two factors with the same column are a word of two, which no count shows: they count as more of length 3
    than there can be.
    """
    if len(set(columns)) < len(columns):
        return (1 << 62,)
    distances = _list_parities(basic)[list(columns)].sum(axis=0, dtype=np.int64)
    shares = np.bincount(distances, minlength=len(columns) + 1)
    counts = _list_krawtchouk(len(columns)) @ shares / (1 << basic)
    return tuple(round(float(count)) for count in counts)
