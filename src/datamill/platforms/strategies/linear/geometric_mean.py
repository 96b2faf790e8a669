"""The suite's geometric mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.platforms.strategies.linear.linear_strategy import LinearStrategy, Predictors, use_column
from datamill.platforms.strategies.many_tasks import ManyTasks


@dataclass(frozen=True, slots=True)
class GeometricMean(LinearStrategy):
    """Seconds by the geometric mean of all benchmarks: the usual way (thesis 2015, section 7.4)."""

    name: str = "geometric-mean"
    title: str = "suite geometric mean"

    def choose(self, tasks: ManyTasks) -> Predictors:
        """The suite's geometric mean on each machine."""
        benchmarks = tasks.suite.shape[1]
        mean = np.exp(np.mean(np.log(tasks.suite), axis=1))
        return use_column(tasks, mean, np.full(benchmarks, 1 / benchmarks))
