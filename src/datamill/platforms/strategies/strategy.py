"""What every strategy is given, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from datamill.platforms.scores.score_matrix import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One application to predict: the suite on all known machines, the application on some of them.

    `suite` (machines × benchmarks) has no gaps and is above zero, in seconds. `trained` are the rows on which
    the application was measured, `times` its seconds there; `targets` are the rows to predict. Rows that are
    neither are machines of which the suite alone is known; a strategy may learn from them how the suite
    behaves. The application's time on a target never enters a task. `times_noise` are standard errors of the
    logarithms of `times`, NaN where nothing is known of them. `facts` as in `ScoreMatrix`.
    """

    suite: FloatArray
    trained: IntArray
    targets: IntArray
    times: FloatArray
    times_noise: FloatArray
    facts: Mapping[str, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What a strategy says of the targets of a task.

    `seconds` has a time for each target, NaN where the strategy cannot say. A linear model in seconds may
    give a time that is not above zero; it is returned as it is. `log_deviation` is the standard deviation
    that the strategy itself expects of the logarithm of (time / prediction), NaN where it expects none.
    `weights` has the part of each benchmark in the prediction (0: not
    used; NaN where the strategy does not tell), and `adjusted_r2` the adjusted
    R² of a linear model on the trained machines, NaN where that is not defined.
    """

    seconds: FloatArray
    log_deviation: FloatArray
    weights: FloatArray
    adjusted_r2: float


class Strategy(Protocol):
    """A way to predict."""

    @property
    def name(self) -> str:
        """As it is typed, such as `geometric-mean`."""

    @property
    def title(self) -> str:
        """As people read it, such as "suite geometric mean"."""

    def forecast(self, task: Task) -> Forecast:
        """Predict the application on the targets."""
