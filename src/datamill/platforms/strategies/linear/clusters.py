"""One benchmark of each cluster of the suite."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datamill.platforms.clusters.benchmark_tree import build_tree, choose_representatives
from datamill.platforms.strategies.linear.linear_strategy import LinearStrategy, Predictors, use_benchmarks
from datamill.platforms.strategies.many_tasks import ManyTasks


@dataclass(frozen=True, slots=True)
class Clusters(LinearStrategy):
    """Seconds by one representative of each of `most` clusters of benchmarks (thesis 2015, section 7.4).

    The tree is made of all machines of which the suite is known, targets too: the application has no part in
    it. It is cut at no more clusters than leave the model a degree of freedom: n - 2.
    """

    most: int = 5
    name: str = "clusters"
    title: str = "cluster representatives"

    def choose(self, tasks: ManyTasks) -> Predictors:
        """The representatives, the same for all sets; none for sets of fewer than three machines."""
        clusters = min(self.most, tasks.trained.shape[1] - 2)
        known = np.full(len(tasks.trained), clusters > 0)
        chosen = choose_representatives(build_tree(tasks.suite), max(1, clusters))
        return use_benchmarks(tasks, np.tile(chosen, (len(tasks.trained), 1)), known)

    def limit(self, most: int) -> Clusters:
        """The same with at most this number of clusters (Figure 7.9)."""
        return replace(self, most=min(self.most, most))
