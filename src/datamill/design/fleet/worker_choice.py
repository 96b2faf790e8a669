"""The fewest workers that have the wanted levels, and among equally few those that are done earliest.

The integer program of ICPE 2013, equations 1a to 1f. Workers with the same levels count as one. A set of
workers that is as small as a bound allows is optimal and needs no solver; otherwise HiGHS proves what is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

#: Beginnings from which a set is grown before the solver is asked; few where that leads nowhere near.
_BEGINNINGS, _FEW_BEGINNINGS = 400, 20
#: Steps of a search through all small sets, after which the solver is asked instead: where a set is as small
#: as the largest need, which rules most classes out at each step, and elsewhere, where the solver is good.
_MOST_STEPS, _FEW_STEPS = 20_000, 300
#: A level that a worker does not have.
NO_LEVEL = -1


@dataclass(frozen=True, slots=True, eq=False)
class CoverProgram:
    """The integer program over n workers and m levels: minimise `costs` x subject to `matrix` x >= `lower`.

    Columns are the workers' x_i and then the levels' l_j, all 0 or 1.
    """

    costs: FloatArray
    matrix: sparse.csr_matrix
    lower: FloatArray


def write_program(has: NDArray[np.bool_], dimension: IntArray, needed: IntArray) -> CoverProgram:
    """Write equations 1a to 1f of ICPE 2013 section 4.1.

    Args:
        has: n × m, whether worker i has level j (the sets P_j).
        dimension: the dimension k of each level (m; the sets F_k).
        needed: the wanted number of levels of each dimension (B_k).
    """
    n, m = has.shape
    workers, levels = np.nonzero(has)
    pairs = np.arange(workers.size)
    ones = np.ones(workers.size)
    # 1b: a picked level needs a worker that has it.
    picked = sparse.hstack([sparse.csr_matrix((ones, (levels, workers)), shape=(m, n)), -sparse.identity(m)])
    # 1c: a picked worker brings all of its levels.
    brought = sparse.hstack(
        [
            sparse.csr_matrix((-ones, (pairs, workers)), shape=(pairs.size, n)),
            sparse.csr_matrix((ones, (pairs, levels)), shape=(pairs.size, m)),
        ]
    )
    # 1d: enough levels of each dimension.
    counted = sparse.csr_matrix((np.ones(m), (dimension, n + np.arange(m))), shape=(len(needed), n + m))
    return CoverProgram(
        costs=np.concatenate([np.ones(n), np.zeros(m)]),
        matrix=sparse.csr_matrix(sparse.vstack([picked, brought, counted])),
        lower=np.concatenate([np.zeros(m + pairs.size), np.asarray(needed, dtype=float)]),
    )


def choose_workers(
    levels: IntArray, needed: Sequence[int], free_s: FloatArray, *, at_least: int = 1, seed: int = 0
) -> list[int]:
    """Return the rows of the fewest workers with the needed levels, those that are free earliest among such.

    What is minimised second is the time at which the last chosen worker becomes free: every worker gets as
    many trials as any other. The first of equally good workers is taken, and which of equally good sets is
    found depends on `seed`: rows in a drawn order give a drawn choice.

    Args:
        levels: n × d, the level of each worker in each dimension, from 0; `NO_LEVEL` where it has none.
        needed: how many levels of each dimension are needed (d); no more than there are.
        free_s: when each worker is free (n).
        at_least: workers that there must be; no more than n.
        seed: for where the search begins.

    Raises:
        ValueError: more is needed than there is.
    """
    wanted = [k for k, least in enumerate(needed) if least > 0]
    for k in wanted:
        if np.unique(levels[levels[:, k] != NO_LEVEL, k]).size < needed[k]:
            raise ValueError(f"dimension {k} has fewer than {needed[k]} levels")
    if at_least > levels.shape[0]:
        raise ValueError(f"there are fewer than {at_least} workers")
    # What every worker brings needs no equation: some worker is always chosen.
    wanted = [k for k in wanted if needed[k] > 1 or np.any(levels[:, k] == NO_LEVEL)]
    order = np.argsort(free_s, kind="stable")
    if not wanted:
        return sorted(int(row) for row in order[:at_least])
    # Of workers with the same levels the one that is free first will do; classes come in order of that time.
    shown: IntArray = levels[:, wanted][order]
    first = np.sort(np.unique(shown, axis=0, return_index=True)[1])
    search = _Search.prepare(shown[first], [needed[k] for k in wanted], seed=seed)
    classes = order[first]
    cover = search.find_smallest(classes.size)
    size = max(len(cover), at_least)
    times = free_s[classes]
    cover = _find_earliest(search, times, cover, size, free_s[order[size - 1]])
    chosen = [int(row) for row in classes[cover]]
    taken = set(chosen)
    chosen += [int(row) for row in order if int(row) not in taken][: size - len(chosen)]
    return sorted(chosen)


def _find_earliest(
    search: _Search, times: FloatArray, cover: list[int], size: int, soonest_s: float
) -> list[int]:
    """Return a cover of at most `size` classes whose last one is free earliest; `times` are ascending.

    Classes are allowed up to a time, which grows from the least that could do until a cover exists: sets that
    the solver must refute stay small.
    """
    low = max(search.count_needed(), int(np.searchsorted(times, soonest_s, side="right")))
    high = 1 + max(cover)
    known: list[int] = cover
    # `low` classes may be enough; fewer are not, and `high` are.
    step = 0
    while low < high:
        ends = np.unique(np.searchsorted(times, times[low - 1 : high], side="right"))
        ends = ends[ends < high]
        if ends.size == 0:
            break
        at = min(step, ends.size - 1) if step < ends.size else ends.size // 2
        allowed = int(ends[at])
        found = search.find_within(allowed, size)
        if found is None:
            low = allowed + 1
            step = 2 * step + 1
        else:
            known = found
            high = min(allowed, 1 + max(found))
            step = 0 if at == 0 else at // 2
    return known


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """Classes of workers in the order in which they are free, c × m: `has` says which levels each has."""

    has: NDArray[np.bool_]
    dimension: IntArray
    needed: IntArray
    seed: int

    @classmethod
    def prepare(cls, levels: IntArray, needed: Sequence[int], *, seed: int) -> _Search:
        columns, dimension = [], []
        for k in range(levels.shape[1]):
            for level in np.unique(levels[levels[:, k] != NO_LEVEL, k]):
                columns.append(levels[:, k] == level)
                dimension.append(k)
        return cls(np.stack(columns, axis=1), np.array(dimension), np.array(needed, dtype=np.int64), seed)

    def count_needed(self) -> int:
        """Return how many of the first classes there must be at least, for their levels to be enough."""
        first = np.argmax(self.has, axis=0)
        return max(
            1 + int(np.sort(first[self.dimension == k])[least - 1]) for k, least in enumerate(self.needed)
        )

    def find_smallest(self, allowed: int) -> list[int]:
        """Return the fewest of the first `allowed` classes that have the needed levels."""
        bound = int(self.needed.max())
        found = self._grow(allowed, bound)
        return found if len(found) == bound else self._solve(allowed, len(found) - 1) or found

    def find_within(self, allowed: int, size: int) -> list[int] | None:
        """Return at most `size` of the first `allowed` classes that have the needed levels, if there are."""
        if allowed < self.count_needed():
            return None
        found = self._grow(allowed, size)
        if len(found) <= size:
            return found
        try:
            return _Descent(self, allowed).find(size)
        except _TooManyStepsError:
            return self._solve(allowed, size)

    def _grow(self, allowed: int, enough: int) -> list[int]:
        """Add the class that brings most, from many beginnings, until a set of `enough` classes is found."""
        has = self.has[:allowed].astype(np.float32)
        rng = np.random.default_rng((self.seed, allowed))
        best: list[int] = []
        for number, beginning in enumerate(rng.permutation(allowed)[:_BEGINNINGS]):
            if number >= _FEW_BEGINNINGS and len(best) > enough + 1:
                # Far off: the solver has to answer anyhow.
                break
            chosen = self._grow_from(has, int(beginning), rng, len(best) or allowed + 1)
            if chosen and (not best or len(chosen) < len(best)):
                best = chosen
                if len(best) <= enough:
                    break
        return best

    def _grow_from(
        self, has: NDArray[np.float32], beginning: int, rng: np.random.Generator, most: int
    ) -> list[int]:
        """Return a cover of fewer than `most` classes with one beginning, empty when it takes as many."""
        missing = np.ones(has.shape[1], dtype=np.float32)
        left = self.needed.copy()
        chosen = [beginning]
        while True:
            new = np.flatnonzero((has[chosen[-1]] > 0) & (missing > 0))
            left[self.dimension[new]] -= 1
            missing[new] = 0
            missing[left[self.dimension] <= 0] = 0
            if left.max() <= 0:
                return chosen if len(chosen) < most else []
            if len(chosen) + int(left.max()) >= most:
                return []
            gains = has @ missing
            ties = np.flatnonzero(gains == gains.max())
            chosen.append(int(ties[rng.integers(ties.size)]))

    def _solve(self, allowed: int, most: int) -> list[int] | None:
        """Return the smallest cover of at most `most` of the first `allowed` classes, if there is one."""
        used = self.has[:allowed].any(axis=0)
        has = self.has[:allowed][:, used]
        program = write_program(has, self.dimension[used], self.needed)
        size = sparse.csr_matrix(program.costs[None, :])
        solved = milp(
            program.costs,
            integrality=np.ones(program.costs.size),
            bounds=Bounds(0, 1),
            constraints=[
                LinearConstraint(program.matrix, program.lower, np.inf),
                LinearConstraint(size, int(self.needed.max()), most),
            ],
        )
        if solved.status == 2:
            return None
        if not solved.success:
            raise RuntimeError(f"HiGHS gave up: {solved.message}")
        return [int(row) for row in np.flatnonzero(solved.x[:allowed] > 0.5)]


class _TooManyStepsError(Exception):
    """There are too many sets to look at."""


class _Descent:
    """A search through all sets of few classes; quick where nearly every class must bring a new level."""

    def __init__(self, search: _Search, allowed: int) -> None:
        has, dimension = search.has[:allowed], search.dimension
        count, levels = search.needed.size, has.shape[1]
        # The column of each class's level in each dimension; behind the last one stands that of no level.
        self._level = np.full((allowed, count), levels)
        for k in range(count):
            columns = np.flatnonzero(dimension == k)
            rows, which = np.nonzero(has[:, columns])
            self._level[rows, k] = columns[which]
        self._needed = search.needed
        self._starts = np.searchsorted(dimension, np.arange(count))
        self._levels = levels
        self._steps = self._most_steps = 0

    def find(self, size: int) -> list[int] | None:
        """Return at most `size` classes that have the needed levels, None when there are none.

        Raises:
            _TooManyStepsError: before it is known.
        """
        self._most_steps = self._steps + (_MOST_STEPS if size == int(self._needed.max()) else _FEW_STEPS)
        missing = np.ones(self._levels + 1, dtype=np.bool_)
        missing[-1] = False
        return self._descend(np.arange(self._level.shape[0]), self._needed.copy(), missing, size)

    def _descend(
        self, rows: IntArray, left: IntArray, missing: NDArray[np.bool_], slots: int
    ) -> list[int] | None:
        """Return at most `slots` of the rows that bring what is left of each dimension's need."""
        most = int(left.max())
        if most <= 0:
            return []
        self._steps += 1
        if self._steps > self._most_steps:
            raise _TooManyStepsError
        if most > slots:
            return None
        new = missing[self._level[rows]]
        # As many levels as places: every class must bring a new one.
        fits = new[:, left == slots].all(axis=1)
        rows, new = rows[fits], new[fits]
        gains = new[:, left > 0].sum(axis=1)
        if rows.size == 0 or int(gains.max()) * slots < int(left[left > 0].sum()):
            return None
        branch = self._choose_branch(rows, left, missing)
        if branch is None:
            branch = rows[np.argsort(-gains, kind="stable")]
        for row in branch:
            brought = missing[self._level[row]]
            remaining = missing.copy()
            remaining[self._level[row]] = False
            found = self._descend(rows[rows != row], left - brought, remaining, slots - 1)
            if found is not None:
                return [int(row), *found]
            # No set with this row: none further down needs to look at it again.
            rows = rows[rows != row]
        return None

    def _choose_branch(self, rows: IntArray, left: IntArray, missing: NDArray[np.bool_]) -> IntArray | None:
        """Return the rows with the rarest level that any set must have, None where no level is a must."""
        absent = np.add.reduceat(missing[:-1].astype(np.int64), self._starts)
        musts = np.flatnonzero((left > 0) & (left == absent))
        if musts.size == 0:
            return None
        counts = np.bincount(self._level[rows][:, musts].ravel(), minlength=self._levels + 1)
        wanted = np.zeros(self._levels + 1, dtype=np.bool_)
        wanted[:-1] = np.isin(np.repeat(np.arange(left.size), self._sizes()), musts)
        wanted &= missing
        rarest = int(np.argmin(np.where(wanted, counts, rows.size + 1)))
        chosen: IntArray = rows[(self._level[rows] == rarest).any(axis=1)]
        return chosen

    def _sizes(self) -> IntArray:
        return np.diff(np.append(self._starts, self._levels))
