"""One block of an evaluation: an application predicted from many sets of machines, and its errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datamill.experiment.errors import InputError
from datamill.platforms.evaluation.evaluation_plan import Block, EvaluationPlan, Variant, list_targets
from datamill.platforms.scores.score_matrix import FloatArray, IntArray, ScoreMatrix
from datamill.platforms.strategies.many_tasks import (
    BatchedStrategy,
    LimitedStrategy,
    ManyForecasts,
    ManyTasks,
)
from datamill.platforms.strategies.registry import find_strategy
from datamill.platforms.strategies.strategy import Strategy, Task

#: Models that are fitted at once: more take memory and no less time.
_AT_ONCE = 4096


@dataclass(frozen=True, slots=True, eq=False)
class BlockErrors:
    """Errors of the models of one block, in the order of the plan's sets.

    `nrmse` (sets) is the prediction RMSE over a model's targets in shares of `mean_seconds`, the mean time of
    the application on all machines of the pool, trained ones and targets (thesis 2015, equation 7.1 and
    section 7.5). `relative` (sets × targets, four bytes each) is prediction / time - 1 for each target,
    ascending by machine. NaN where a strategy does not predict. `adjusted_r2` and `predictors` (sets) as in
    `ManyForecasts`.
    """

    block: Block
    mean_seconds: float
    nrmse: FloatArray
    adjusted_r2: FloatArray
    predictors: IntArray
    relative: NDArray[np.float32]


def evaluate_block(matrix: ScoreMatrix, plan: EvaluationPlan, block: Block) -> BlockErrors:
    """Predict one application from each set of its size, and measure the errors on all other machines.

    Raises:
        InputError: the strategy cannot be used on this matrix.
    """
    pool = matrix.keep_machines(plan.machines)
    suite = pool.keep_benchmarks([name for name in plan.benchmarks if name != block.application])
    actual = pool.seconds[:, pool.benchmarks.index(block.application)]
    noise = pool.noise[:, pool.benchmarks.index(block.application)]
    sets = plan.list_sets(block.application, block.size)
    strategy = make_strategy(block.variant)
    parts = []
    for start in range(0, len(sets), _AT_ONCE):
        some = sets[start : start + _AT_ONCE]
        # Only times on trained machines go in: a strategy cannot see more.
        tasks = ManyTasks(suite.seconds, some, actual[some], suite.facts)
        if isinstance(strategy, BatchedStrategy):
            parts.append(strategy.forecast_many(tasks))
        else:
            parts.append(_forecast_each(strategy, tasks, noise[some], suite.facts))
    seconds = np.concatenate([part.seconds for part in parts])
    targets = list_targets(sets, len(plan.machines))
    missed = np.take_along_axis(seconds, targets, axis=1) - actual[targets]
    mean = float(actual.mean())
    return BlockErrors(
        block=block,
        mean_seconds=mean,
        nrmse=np.sqrt(np.mean(missed**2, axis=1)) / mean,
        adjusted_r2=np.concatenate([part.adjusted_r2 for part in parts]),
        predictors=np.concatenate([part.predictors for part in parts]),
        relative=(missed / actual[targets]).astype(np.float32),
    )


def make_strategy(variant: Variant) -> Strategy:
    """The strategy of a variant, with its limit.

    Raises:
        InputError: there is none of that name, or its predictors cannot be limited.
    """
    strategy = find_strategy(variant.strategy)
    if not variant.limit:
        return strategy
    if not isinstance(strategy, LimitedStrategy):
        raise InputError(
            f"the strategy {variant.strategy} has no number of predictors to limit",
            remedy="Limit clusters, adjusted-r2, mallows-cp, backward or forward.",
        )
    return strategy.limit(variant.limit)


def _forecast_each(
    strategy: Strategy, tasks: ManyTasks, noise: FloatArray, facts: Mapping[str, FloatArray]
) -> ManyForecasts:
    """Forecasts of a strategy that knows one task at a time."""
    machines = len(tasks.suite)
    seconds = np.full((len(tasks.trained), machines), np.nan)
    adjusted = np.full(len(tasks.trained), np.nan)
    predictors = np.zeros(len(tasks.trained), dtype=np.int64)
    targets = list_targets(tasks.trained, machines)
    for place, trained in enumerate(tasks.trained):
        task = Task(tasks.suite, trained, targets[place], tasks.times[place], noise[place], facts)
        told = strategy.forecast(task)
        seconds[place, targets[place]] = told.seconds
        adjusted[place] = told.adjusted_r2
        predictors[place] = np.count_nonzero(told.weights)
    return ManyForecasts(seconds, adjusted, predictors)
