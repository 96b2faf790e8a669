"""The subset of benchmarks with the smallest Cp."""

from __future__ import annotations

from dataclasses import dataclass, replace

from datamill.platforms.strategies.linear.linear_strategy import (
    LinearStrategy,
    Predictors,
    gather_times,
    use_benchmarks,
)
from datamill.platforms.strategies.many_tasks import ManyTasks
from datamill.platforms.subsets.best_subsets import best_by_criterion


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
        found = best_by_criterion(
            tasks.suite, gather_times(tasks), list(tasks.trained), "cp", self.most or tasks.suite.shape[1]
        )
        return use_benchmarks(tasks, found.members)

    def limit(self, most: int) -> MallowsCp:
        """The same with at most this number of predictors (Figure 7.9)."""
        return replace(self, most=most)
