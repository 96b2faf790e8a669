"""What an evaluation consists of: strategies, applications, sizes, and sets of machines to train on."""

from __future__ import annotations

from collections.abc import Sequence
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
class EvaluationPart:
    """All applications predicted from some sets of one size, those from `start` to before `stop`.

    `variants` are several where one search serves them all.
    """

    variants: tuple[Variant, ...]
    size: int
    start: int
    stop: int

    @property
    def label(self) -> str:
        """As people read it: `clusters from 7 machines`."""
        return f"{' and '.join(variant.label for variant in self.variants)} from {self.size} machines"


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """All that is asked of an evaluation.

    `machines` are the pool: training machines come from it, and all others of it are targets. `benchmarks`
    are the suite; each of `applications` is held out of it in turn. `draws` is how many sets of each size are
    drawn where there are more (0: all are taken), by `seed`.
    """

    machines: tuple[str, ...]
    benchmarks: tuple[str, ...]
    applications: tuple[str, ...]
    variants: tuple[Variant, ...]
    sizes: tuple[int, ...]
    draws: int
    seed: int

    def count_sets(self, size: int) -> int:
        """How many sets of a size there are to train on."""
        possible = comb(len(self.machines), size)
        return min(possible, self.draws) if self.draws else possible

    def is_exhaustive(self, size: int) -> bool:
        """Whether all sets of a size are taken."""
        return self.count_sets(size) == comb(len(self.machines), size)

    def list_sets(self, size: int) -> IntArray:
        """Training sets (sets × size) as rows of the pool, each ascending, none twice.

        They are the same for all applications and variants, whose errors can so be compared.
        """
        machines, wanted = len(self.machines), self.count_sets(size)
        possible = comb(machines, size)
        if wanted == possible:
            return _list_all(machines, size)
        draw = np.random.default_rng([self.seed, size])
        if possible <= _LISTED:
            return _list_all(machines, size)[np.sort(draw.choice(possible, wanted, replace=False))]
        found: dict[tuple[int, ...], None] = {}
        while len(found) < wanted:
            rows = np.argsort(draw.random((wanted, machines)), axis=1)[:, :size]
            found |= dict.fromkeys(map(tuple, np.sort(rows, axis=1).tolist()))
        return np.array(list(found)[:wanted], dtype=np.int64)

    def divide(self, variants: tuple[Variant, ...], most: int) -> tuple[EvaluationPart, ...]:
        """The parts of some variants, each of at most so many sets."""
        return tuple(
            EvaluationPart(variants, size, start, min(start + most, self.count_sets(size)))
            for size in self.sizes
            for start in range(0, self.count_sets(size), most)
        )


def list_targets(sets: IntArray, machines: int) -> IntArray:
    """The rows of the pool that are not in each set (sets × targets), ascending."""
    outside = np.ones((len(sets), machines), dtype=bool)
    np.put_along_axis(outside, sets, values=False, axis=1)
    return np.nonzero(outside)[1].reshape(len(sets), machines - sets.shape[1])


def pair_variants(variants: Sequence[Variant], shared: Sequence[str]) -> tuple[tuple[Variant, ...], ...]:
    """Variants in groups: those of the strategies that share a search together, limit by limit."""
    groups: dict[tuple[str, int], list[Variant]] = {}
    for variant in variants:
        key = "" if variant.strategy in shared else variant.strategy
        groups.setdefault((key, variant.limit), []).append(variant)
    return tuple(tuple(group) for group in groups.values())


def _list_all(machines: int, size: int) -> IntArray:
    return np.array(list(combinations(range(machines), size)), dtype=np.int64).reshape(-1, size)
