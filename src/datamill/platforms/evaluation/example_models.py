"""Three models of one application, each with one predictor (thesis 2015, Figure 7.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.platforms.scores.score_matrix import FloatArray, ScoreMatrix
from datamill.platforms.strategies.linear.best_single import BestSingle
from datamill.platforms.strategies.linear.clock import CLOCK, ProcessorClock
from datamill.platforms.strategies.linear.geometric_mean import GeometricMean
from datamill.platforms.strategies.linear.least_squares import adjust_r2, fit_many
from datamill.platforms.strategies.many_tasks import ManyTasks


@dataclass(frozen=True, slots=True, eq=False)
class ExampleModel:
    """Seconds of the application by one predictor: `intercept + slope × value`.

    `values` are the predictor's on each machine of the pool. `residual_rmse` is over the trained machines,
    `prediction_rmse` over the targets, in seconds (equation 7.1).
    """

    predictor: str
    values: FloatArray
    intercept: float
    slope: float
    residual_rmse: float
    prediction_rmse: float
    adjusted_r2: float


@dataclass(frozen=True, slots=True, eq=False)
class ExampleModels:
    """One application on all machines of the pool, and models trained on all but `target`.

    `seconds` are the application's. The clock has a model where it is known of all machines.
    """

    application: str
    target: str
    machines: tuple[str, ...]
    seconds: FloatArray
    models: tuple[ExampleModel, ...]


def fit_examples(pool: ScoreMatrix, application: str, target: str) -> ExampleModels:
    """Fit the clock, the suite's geometric mean and the best single benchmark; at least three are trained."""
    suite = pool.keep_benchmarks([name for name in pool.benchmarks if name != application])
    seconds = pool.seconds[:, pool.benchmarks.index(application)]
    trained = np.array([[row for row, name in enumerate(pool.machines) if name != target]])
    tasks = ManyTasks(suite.seconds, trained, seconds[trained], suite.facts)
    models = []
    for strategy in (ProcessorClock(), GeometricMean(), BestSingle()):
        if (
            isinstance(strategy, ProcessorClock)
            and not np.isfinite(suite.facts.get(CLOCK, np.array([np.nan]))).all()
        ):
            continue
        chosen = strategy.choose(tasks)
        fits = fit_many(chosen.columns, trained, tasks.times, chosen.members)
        # A predictor that is constant on the trained machines leaves the mean alone.
        member = max(0, int(fits.members[0, 0]))
        column, slope = chosen.columns[:, member], float(fits.slopes[0, 0])
        name = suite.benchmarks[member] if isinstance(strategy, BestSingle) else strategy.title
        missed = fits.predicted[0] - seconds
        models.append(
            ExampleModel(
                predictor=f"{name} (MHz)" if isinstance(strategy, ProcessorClock) else name,
                values=column,
                intercept=float(fits.predicted[0, 0] - slope * column[0]),
                slope=slope,
                residual_rmse=float(np.sqrt(np.mean(missed[trained[0]] ** 2))),
                prediction_rmse=float(abs(missed[pool.machines.index(target)])),
                adjusted_r2=float(adjust_r2(fits, trained.shape[1])[0]),
            )
        )
    return ExampleModels(application, target, pool.machines, seconds, tuple(models))
