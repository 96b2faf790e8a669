"""What an evaluation consists of: strategies, applications, sizes, and sets of machines to train on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from datamill.platforms.scores.score_matrix import IntArray

#: Up to this many sets all are listed and some drawn from the list; of more, they are drawn one by one.
_LISTED = 200_000


@dataclass(frozen=True, slots=True, order=True)
class Variant:
    """A strategy, with a limit on its predictors (0: its own)."""

    strategy: str
    limit: int = 0

    @property
    def label(self) -> str:
        """As people read it: `mallows-cp`, or `mallows-cp ≤ 3`."""
        return f"{self.strategy} ≤ {self.limit}" if self.limit else self.strategy


@dataclass(frozen=True, slots=True, order=True)
class Block:
    """One application predicted by one variant from all sets of one size."""

    variant: Variant
    application: str
    size: int


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """All that is asked of an evaluation.

    `machines` are the pool: training machines come from it, and all others of it are targets. `benchmarks`
    are the suite; each of `applications` is held out of it in turn. `draws` is how many sets of each size are
    drawn for each application where there are more (0: all are taken), by `seed`.
    """

    machines: tuple[str, ...]
    benchmarks: tuple[str, ...]
    applications: tuple[str, ...]
    variants: tuple[Variant, ...]
    sizes: tuple[int, ...]
    draws: int
    seed: int

    def list_blocks(self) -> tuple[Block, ...]:
        """All blocks, those that take longest at the end of each variant."""
        return tuple(
            Block(variant, application, size)
            for variant in self.variants
            for size in self.sizes
            for application in self.applications
        )

    def count_sets(self, size: int) -> int:
        """How many sets of a size each application meets."""
        possible = comb(len(self.machines), size)
        return min(possible, self.draws) if self.draws else possible

    def is_exhaustive(self, size: int) -> bool:
        """Whether all sets of a size are taken."""
        return self.count_sets(size) == comb(len(self.machines), size)

    def list_sets(self, application: str, size: int) -> IntArray:
        """Training sets (sets × size) as rows of the pool, each ascending, none twice.

        They are the same for all variants. Drawn ones differ between applications.
        """
        machines, wanted = len(self.machines), self.count_sets(size)
        possible = comb(machines, size)
        if wanted == possible:
            return _list_all(machines, size)
        draw = np.random.default_rng([self.seed, size, self.applications.index(application)])
        if possible <= _LISTED:
            return _list_all(machines, size)[np.sort(draw.choice(possible, wanted, replace=False))]
        found: dict[tuple[int, ...], None] = {}
        while len(found) < wanted:
            rows = np.argsort(draw.random((wanted, machines)), axis=1)[:, :size]
            found |= dict.fromkeys(map(tuple, np.sort(rows, axis=1).tolist()))
        return np.array(list(found)[:wanted], dtype=np.int64)


def list_targets(sets: IntArray, machines: int) -> IntArray:
    """The rows of the pool that are not in each set (sets × targets), ascending."""
    outside = np.ones((len(sets), machines), dtype=bool)
    np.put_along_axis(outside, sets, values=False, axis=1)
    return np.nonzero(outside)[1].reshape(len(sets), machines - sets.shape[1])


def _list_all(machines: int, size: int) -> IntArray:
    return np.array(list(combinations(range(machines), size)), dtype=np.int64).reshape(-1, size)
