"""One application predicted from many sets of machines at once, for evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from datamill.platforms.scores.score_matrix import FloatArray, IntArray
from datamill.platforms.strategies.strategy import Strategy


@dataclass(frozen=True, slots=True, eq=False)
class ManyTasks:
    """Tasks that differ in their trained machines alone, each with as many of them.

    `suite` and `facts` as in `Task`; `trained` (sets × n) has the rows on which the application was measured,
    set by set, and `times` (sets × n) its seconds there, and nowhere else. Every machine is a target.
    """

    suite: FloatArray
    trained: IntArray
    times: FloatArray
    facts: Mapping[str, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class ManyForecasts:
    """What a strategy says for many sets of trained machines.

    `seconds` (sets × machines) has a time for every machine; on trained ones it is the fitted one. NaN where
    the strategy cannot say. `adjusted_r2` (sets) as in `Forecast`; `predictors` (sets) says how many each
    model has, NaN where that is not known.
    """

    seconds: FloatArray
    adjusted_r2: FloatArray
    predictors: FloatArray


@runtime_checkable
class BatchedStrategy(Strategy, Protocol):
    """A strategy that predicts from many sets of machines faster than from one after the other."""

    def forecast_many(self, tasks: ManyTasks) -> ManyForecasts:
        """Predict the application on every machine, from each set of trained ones."""


@runtime_checkable
class LimitedStrategy(Strategy, Protocol):
    """A strategy whose models can be limited to a number of predictors."""

    def limit(self, most: int) -> Strategy:
        """The same with at most this number of predictors."""
