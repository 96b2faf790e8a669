"""Methods on logarithms as strategies, and strategies as methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from datamill.platforms.ensemble.inference import ENSEMBLE_METHODS, find_half_widths, infer_application
from datamill.platforms.methods.centred import Centred, center_applications
from datamill.platforms.methods.transposed_ridge import Method
from datamill.platforms.scores.score_matrix import FloatArray
from datamill.platforms.strategies.strategy import Forecast, Strategy, Task


@dataclass(frozen=True, slots=True)
class OneMethod:
    """A strategy that is one method on logarithms."""

    name: str
    title: str
    method: Method

    def forecast(self, task: Task) -> Forecast:
        """Predict the application on the targets."""
        logs = np.log(task.suite[np.concatenate([task.trained, task.targets])])
        given = center_applications(logs[None], np.log(task.times)[None])
        seconds = np.exp(self.method(given)[0])
        unknown = np.full(len(seconds), np.nan)
        return Forecast(seconds, unknown, np.full(logs.shape[1], np.nan), float("nan"))


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The strategy that weighs all members by what they are worth for the suite's own benchmarks."""

    name: str = "ensemble"
    title: str = "ensemble"

    def forecast(self, task: Task) -> Forecast:
        """Predict the application on the targets; the deviation is that of a 68.3% interval."""
        logs = np.log(task.suite[np.concatenate([task.trained, task.targets])])
        found = infer_application(logs, np.isfinite(logs), np.log(task.times), task.times_noise)
        shares = np.abs(found.by_benchmark).mean(axis=0)
        return Forecast(
            np.exp(found.logs),
            find_half_widths(found, 0.6827),
            shares / (shares.sum() or 1.0),
            float("nan"),
        )


def find_methods(strategy: Strategy, facts: Mapping[str, FloatArray]) -> Sequence[Method]:
    """Return the members of the ensemble, or a strategy as the only one.

    Args:
        strategy: the strategy.
        facts: numbers known of machines, in the order in which methods see them, trained ones first.
    """
    if isinstance(strategy, Ensemble):
        return ENSEMBLE_METHODS
    if isinstance(strategy, OneMethod):
        return (strategy.method,)

    def predict(given: Centred) -> FloatArray:
        trained = given.trained
        count = given.patterns.shape[1]
        found = np.empty((len(given.patterns), count - trained))
        logs = np.broadcast_to(given.times, (len(found), trained)) + given.levels[:, :trained]
        for index, row in enumerate(found):
            suite = np.exp(given.levels[index][:, None] + given.patterns[index])
            times = np.exp(logs[index])
            task = Task(
                suite,
                np.arange(trained),
                np.arange(trained, count),
                times,
                np.full(trained, np.nan),
                facts,
            )
            seconds = strategy.forecast(task).seconds
            # A line may pass below 0, where no time is: as wrong as can be written.
            row[:] = np.log(np.where(seconds > 0, seconds, np.finfo(float).tiny))
        return found

    return (predict,)
