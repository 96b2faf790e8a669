"""Benchmarks added or removed one at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datamill.platforms.strategies.linear.linear_strategy import (
    LinearStrategy,
    Predictors,
    gather_times,
    use_benchmarks,
)
from datamill.platforms.strategies.many_tasks import ManyTasks
from datamill.platforms.subsets.criteria import find_variances
from datamill.platforms.subsets.stepwise import Direction, select_predictors

#: A model with a predictor and a degree of freedom to judge it by.
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class OneAtATime(LinearStrategy):
    """Seconds by benchmarks that are added or removed as long as Cp gains by it (thesis 2015, section 7.4).

    `most` predictors at most (0: as many as leave a degree of freedom). `select_predictors` says where
    backward selection begins, and `find_variances` what Cp divides by, with more benchmarks than machines.
    """

    direction: Direction
    name: str
    title: str
    most: int = 0

    def choose(self, tasks: ManyTasks) -> Predictors:
        """The selection of each set; nothing is said from fewer than three machines."""
        sets, machines = tasks.trained.shape
        benchmarks = tasks.suite.shape[1]
        members = np.full((sets, max(1, min(benchmarks, machines - 2))), -1, dtype=np.int64)
        known = np.full(sets, machines >= _FEWEST)
        if machines >= _FEWEST:
            variances = find_variances(tasks.suite, gather_times(tasks), list(tasks.trained))
            for place, trained in enumerate(tasks.trained):
                found = select_predictors(
                    tasks.suite[trained],
                    tasks.times[place],
                    "cp",
                    self.direction,
                    largest=self.most or None,
                    variance=float(variances[place]),
                )
                members[place, : len(found.members)] = found.members
        return use_benchmarks(tasks, members, known)

    def limit(self, most: int) -> OneAtATime:
        """The same with at most this number of predictors."""
        return replace(self, most=most)
