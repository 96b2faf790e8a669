"""One part of an evaluation: each application predicted from some sets of machines, and the errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datamill.experiment.errors import InputError
from datamill.platforms.evaluation.evaluation_plan import (
    EvaluationPart,
    EvaluationPlan,
    Variant,
    list_targets,
    pair_variants,
)
from datamill.platforms.evaluation.whole_suite import SHARED_SEARCH, forecast_whole_suite
from datamill.platforms.scores.score_matrix import FloatArray, IntArray, ScoreMatrix
from datamill.platforms.strategies.many_tasks import (
    BatchedStrategy,
    LimitedStrategy,
    ManyForecasts,
    ManyTasks,
)
from datamill.platforms.strategies.registry import STRATEGIES, find_strategy
from datamill.platforms.strategies.strategy import Strategy, Task

#: Sets of a part: of strategies that are fast for many at once, of searches, and of others.
_FAST, _SEARCHED, _SLOW = 4096, 64, 16


@dataclass(frozen=True, slots=True, eq=False)
class PartErrors:
    """Errors of the models of one part: by variant, application and set, in the order of part and plan.

    `nrmse` (variants × applications × sets) is the prediction RMSE over a model's targets in shares of the
    mean time of the application on all machines of the pool, trained ones and targets (thesis 2015, equation
    7.1 and section 7.5). `relative` (… × sets × targets, four bytes each) is prediction / time - 1 for each
    target, ascending by machine. NaN where a strategy does not predict. `adjusted_r2` and `predictors` (as
    `nrmse`) as in `ManyForecasts`.
    """

    part: EvaluationPart
    nrmse: FloatArray
    adjusted_r2: FloatArray
    predictors: FloatArray
    relative: NDArray[np.float32]


def list_parts(plan: EvaluationPlan) -> tuple[EvaluationPart, ...]:
    """All parts of a plan, small enough that several processes have an even share, and that little is lost.

    Raises:
        InputError: a strategy does not exist, or its predictors cannot be limited.
    """
    found: list[EvaluationPart] = []
    for variants in pair_variants(plan.variants, SHARED_SEARCH):
        strategies = [make_strategy(variant) for variant in variants]
        if variants[0].strategy in SHARED_SEARCH:
            # The search, shared or not, takes longer than the models.
            most = _SEARCHED
        else:
            most = _FAST if isinstance(strategies[0], BatchedStrategy) else _SLOW
        found += plan.divide(variants, most)
    return tuple(found)


def evaluate_part(matrix: ScoreMatrix, plan: EvaluationPlan, part: EvaluationPart) -> PartErrors:
    """Predict each application from each set of the part, and measure the errors on all other machines.

    Raises:
        InputError: a strategy cannot be used on this matrix.
    """
    pool = matrix.keep_machines(plan.machines).keep_benchmarks(plan.benchmarks)
    sets = plan.list_sets(part.size)[part.start : part.stop]
    targets = list_targets(sets, len(plan.machines))
    held_out = [plan.benchmarks.index(name) for name in plan.applications]
    names = tuple(variant.strategy for variant in part.variants)
    if "adjusted-r2" in names:
        # Cp alone is quicker for each application by itself: few sizes matter to it.
        forecasts = forecast_whole_suite(pool.seconds, sets, held_out, names, part.variants[0].limit)
    else:
        strategy = make_strategy(part.variants[0])
        forecasts = [[_forecast(strategy, pool, column, sets) for column in held_out]]
    measured = [
        [_measure(many, pool.seconds[:, column], targets) for many, column in zip(row, held_out, strict=True)]
        for row in forecasts
    ]
    return PartErrors(
        part=part,
        nrmse=np.array([[nrmse for nrmse, _ in row] for row in measured]),
        adjusted_r2=np.array([[many.adjusted_r2 for many in row] for row in forecasts]),
        predictors=np.array([[many.predictors for many in row] for row in forecasts]),
        relative=np.array([[relative for _, relative in row] for row in measured]),
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
        able = [name for name, item in STRATEGIES.items() if isinstance(item, LimitedStrategy)]
        raise InputError(
            f"the strategy {variant.strategy} has no number of predictors to limit",
            remedy=f"Those that have one are {', '.join(able)}.",
        )
    return strategy.limit(variant.limit)


def _forecast(strategy: Strategy, pool: ScoreMatrix, column: int, sets: IntArray) -> ManyForecasts:
    """Forecasts of one application from the others."""
    suite = np.delete(pool.seconds, column, axis=1)
    # Only times on trained machines go in: a strategy cannot see more.
    tasks = ManyTasks(suite, sets, pool.seconds[:, column][sets], pool.facts)
    if isinstance(strategy, BatchedStrategy):
        return strategy.forecast_many(tasks)
    return _forecast_each(strategy, tasks, pool.noise[:, column][sets], pool.facts)


def _measure(
    many: ManyForecasts, actual: FloatArray, targets: IntArray
) -> tuple[FloatArray, NDArray[np.float32]]:
    """NRMSE of each model, and relative errors on its targets."""
    missed = np.take_along_axis(many.seconds, targets, axis=1) - actual[targets]
    nrmse = np.sqrt(np.mean(missed**2, axis=1)) / actual.mean()
    return nrmse, (missed / actual[targets]).astype(np.float32)


def _forecast_each(
    strategy: Strategy, tasks: ManyTasks, noise: FloatArray, facts: Mapping[str, FloatArray]
) -> ManyForecasts:
    """Forecasts of a strategy that knows one task at a time."""
    machines = len(tasks.suite)
    seconds = np.full((len(tasks.trained), machines), np.nan)
    adjusted = np.full(len(tasks.trained), np.nan)
    predictors = np.full(len(tasks.trained), np.nan)
    targets = list_targets(tasks.trained, machines)
    for place, trained in enumerate(tasks.trained):
        task = Task(tasks.suite, trained, targets[place], tasks.times[place], noise[place], facts)
        told = strategy.forecast(task)
        seconds[place, targets[place]] = told.seconds
        adjusted[place] = told.adjusted_r2
        predictors[place] = np.nan if np.isnan(told.weights).any() else np.count_nonzero(told.weights)
    return ManyForecasts(seconds, adjusted, predictors)
