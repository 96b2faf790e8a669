"""What all linear strategies share: from chosen predictors to a forecast."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from datamill.platforms.scores.score_matrix import FloatArray, IntArray
from datamill.platforms.strategies.linear.least_squares import ManyFits, adjust_r2, fit_many
from datamill.platforms.strategies.many_tasks import ManyForecasts, ManyTasks
from datamill.platforms.strategies.strategy import Forecast, Task


@dataclass(frozen=True, slots=True, eq=False)
class Predictors:
    """What the models of many tasks are made of.

    `columns` (machines × any) can be predictors; `members` (sets × most) says which are in each model, -1
    where it has fewer; a row of -1 is a model of the mean alone. `parts` (columns × benchmarks) says which
    benchmarks a column is made of, in shares. `known` (sets) is false where nothing can be chosen.
    """

    columns: FloatArray
    members: IntArray
    parts: FloatArray
    known: FloatArray | None = None


class LinearStrategy(ABC):
    """The application's seconds as a linear model with an intercept, by least squares (section 7.2)."""

    @property
    @abstractmethod
    def name(self) -> str:
        """As it is typed."""

    @property
    @abstractmethod
    def title(self) -> str:
        """As people read it."""

    @abstractmethod
    def choose(self, tasks: ManyTasks) -> Predictors:
        """Choose the predictors of each set's model from the suite and the times on trained machines."""

    def forecast(self, task: Task) -> Forecast:
        """Predict the application on the targets."""
        tasks = ManyTasks(task.suite, task.trained[None, :], task.times[None, :], task.facts)
        chosen, fits, many = self._fit(tasks)
        return Forecast(
            seconds=many.seconds[0, task.targets],
            log_deviation=np.full(len(task.targets), np.nan),
            weights=_share(chosen, fits, task.suite.shape[1]),
            adjusted_r2=float(many.adjusted_r2[0]),
        )

    def forecast_many(self, tasks: ManyTasks) -> ManyForecasts:
        """Predict the application on every machine, from each set of trained ones."""
        return self._fit(tasks)[2]

    def _fit(self, tasks: ManyTasks) -> tuple[Predictors, ManyFits, ManyForecasts]:
        chosen = self.choose(tasks)
        fits = fit_many(chosen.columns, tasks.trained, tasks.times, chosen.members)
        seconds = fits.predicted
        adjusted = adjust_r2(fits, tasks.trained.shape[1])
        if chosen.known is not None:
            seconds = np.where(chosen.known[:, None], seconds, np.nan)
            adjusted = np.where(chosen.known, adjusted, np.nan)
        return chosen, fits, ManyForecasts(seconds, adjusted, fits.size.astype(np.float64))


def use_benchmarks(tasks: ManyTasks, members: IntArray, known: FloatArray | None = None) -> Predictors:
    """Predictors that are benchmarks of the suite themselves."""
    return Predictors(tasks.suite, members, np.eye(tasks.suite.shape[1]), known)


def use_column(tasks: ManyTasks, column: FloatArray, parts: FloatArray) -> Predictors:
    """One and the same predictor for all sets; unknown values of it (NaN) leave what needs them unknown."""
    known = np.isfinite(column[tasks.trained]).all(axis=1) & (tasks.trained.shape[1] > 1)
    members = np.zeros((len(tasks.trained), 1), dtype=np.int64)
    return Predictors(column[:, None], members, parts[None, :], known)


def gather_times(tasks: ManyTasks) -> FloatArray:
    """The application's time on each machine that some set has; 0 on the others, which no set reads."""
    times = np.zeros(len(tasks.suite))
    times[tasks.trained] = tasks.times
    return times


def _share(chosen: Predictors, fits: ManyFits, benchmarks: int) -> FloatArray:
    """The part of each benchmark in the model of the only set: |slope| times its predictor's spread."""
    weights = np.zeros(benchmarks)
    for member, slope in zip(fits.members[0], fits.slopes[0], strict=True):
        if member >= 0:
            column = chosen.columns[:, member]
            weights += abs(slope) * float(np.nanstd(column)) * chosen.parts[member]
    whole = weights.sum()
    return weights / whole if whole > 0 and np.isfinite(whole) else np.zeros(benchmarks)
