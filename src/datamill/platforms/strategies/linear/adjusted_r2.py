"""The subset of benchmarks with the largest adjusted R²."""

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
class AdjustedR2(LinearStrategy):
    """Seconds by the subset of benchmarks whose adjusted R² is largest of all subsets (thesis 2015, 7.4).

    Exact, by branch and bound; `most` predictors at most (0: as many as leave a degree of freedom, n - 2).
    """

    most: int = 0
    name: str = "adjusted-r2"
    title: str = "best subset by adjusted R²"

    def choose(self, tasks: ManyTasks) -> Predictors:
        """The best subset of each set; the mean alone where no benchmark improves on it."""
        found = best_by_criterion(
            tasks.suite,
            gather_times(tasks),
            list(tasks.trained),
            "adjusted-r2",
            self.most or tasks.suite.shape[1],
        )
        return use_benchmarks(tasks, found.members)

    def limit(self, most: int) -> AdjustedR2:
        """The same with at most this number of predictors (Figure 7.9)."""
        return replace(self, most=most)
