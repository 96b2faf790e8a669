"""The subset of benchmarks with the smallest Cp."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datamill.platforms.scores.score_matrix import IntArray
from datamill.platforms.strategies.linear.linear_strategy import (
    LinearStrategy,
    Predictors,
    gather_times,
    use_benchmarks,
)
from datamill.platforms.strategies.many_tasks import ManyTasks
from datamill.platforms.subsets.best_subsets import best_by_criterion
from datamill.platforms.subsets.criteria import find_variances


@dataclass(frozen=True, slots=True)
class MallowsCp(LinearStrategy):
    """Seconds by the subset of benchmarks whose Mallows' Cp is smallest of all subsets (thesis 2015, 7.4).

    Exact, by branch and bound; `most` predictors at most (0: as many as leave a degree of freedom, n - 2).
    Equation 7.3 wants the mean square error of the model with all predictors, which more benchmarks than
    machines do not have: `find_variances` says what stands in for it.
    """

    most: int = 0
    name: str = "mallows-cp"
    title: str = "best subset by Mallows' Cp"

    def choose(self, tasks: ManyTasks) -> Predictors:
        """The best subset of each set; the mean alone where no benchmark improves on it."""
        return use_benchmarks(tasks, _search(tasks, self.most or tasks.suite.shape[1]))

    def limit(self, most: int) -> MallowsCp:
        """The same with at most this number of predictors (Figure 7.9)."""
        return replace(self, most=most)


def _search(tasks: ManyTasks, most: int) -> IntArray:
    """Members of the best subset of each set (sets × most), -1 where it has fewer.

    Small sizes are searched first: with k predictors Cp is at least 2 (k + 1) - n, so that what is found
    among few predictors says how many could be better still.
    """
    sets, machines = tasks.trained.shape
    most = max(0, min(most, tasks.suite.shape[1], machines - 2))
    times, trained = gather_times(tasks), list(tasks.trained)
    variances = find_variances(tasks.suite, times, trained)
    members = np.full((sets, max(most, 1)), -1, dtype=np.int64)
    left, size = np.arange(sets), min(2, most)
    while left.size:
        found = best_by_criterion(
            tasks.suite, times, [trained[place] for place in left], "cp", size, variances[left]
        )
        members[left] = -1
        members[left, : found.members.shape[1]] = found.members
        # A little more for rounding; without a value nothing can be better.
        worth = np.nan_to_num((found.value + machines) / 2 - 1 + 1e-6, nan=0.0)
        left, size = left[np.floor(worth) > size], size + 1
        if size > most:
            break
    return members
