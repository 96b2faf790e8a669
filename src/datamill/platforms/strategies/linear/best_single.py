"""The one benchmark that goes with the application best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.platforms.strategies.linear.linear_strategy import LinearStrategy, Predictors, use_benchmarks
from datamill.platforms.strategies.many_tasks import ManyTasks

#: Two points lie on a line with whatever benchmark.
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class BestSingle(LinearStrategy):
    """Seconds by the benchmark that leaves the smallest residual RMSE (thesis 2015, Figure 7.2c)."""

    name: str = "best-single"
    title: str = "best single benchmark"

    def choose(self, tasks: ManyTasks) -> Predictors:
        """The benchmark with the largest squared correlation on the trained machines, the first of equals."""
        x = tasks.suite[tasks.trained]
        # Of any size: the squares of squares would overflow.
        x = x / np.abs(x).max(axis=1, keepdims=True)
        spread = np.sum(x**2, axis=1)
        x = x - x.mean(axis=1, keepdims=True)
        y = tasks.times / np.abs(tasks.times).max(axis=1, keepdims=True)
        y = y - y.mean(axis=1, keepdims=True)
        squares = np.sum(x**2, axis=1)
        # What rounding alone makes vary is constant.
        squares = np.where(squares > 1e-14 * spread, squares, np.inf)
        explained = np.einsum("snb,sn->sb", x, y) ** 2 / squares
        known = np.full(len(tasks.trained), tasks.trained.shape[1] >= _FEWEST)
        return use_benchmarks(tasks, np.argmax(explained, axis=1)[:, None], known)
