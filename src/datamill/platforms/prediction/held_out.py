"""Machines that measured the application, each predicted from the others: a check against real times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from datamill.platforms.prediction.platform_prediction import Carrier, MachinePrediction, PlatformPrediction
from datamill.platforms.prediction.predict_platforms import ENSEMBLE, predict_platforms
from datamill.platforms.scores.score_matrix import ApplicationTimes, ScoreMatrix

#: Machines that are held out at most, and machines that an application needs before one can be.
_MOST_HELD_OUT, _FEWEST = 25, 3


@dataclass(frozen=True, slots=True)
class HeldOutMachine:
    """A machine with the value measured there, in the kind of the application, and its prediction."""

    prediction: MachinePrediction
    measured: float

    @property
    def error(self) -> float:
        """Prediction over measured value, less 1."""
        return self.prediction.seconds / self.measured - 1

    @property
    def is_inside(self) -> bool:
        """Whether the measured value lies in the prediction interval."""
        return self.prediction.low <= self.measured <= self.prediction.high


@dataclass(frozen=True, slots=True)
class HeldOutErrors:
    """Errors of the held-out machines that were predicted, as shares without sign.

    `inside` counts those of `kept` whose measured value lies in the prediction interval.
    """

    kept: int
    median: float
    largest: float
    inside: int

    @classmethod
    def gather(cls, machines: Sequence[HeldOutMachine]) -> HeldOutErrors | None:
        """Gather the errors; None where every prediction is refused."""
        kept = [item for item in machines if not item.prediction.refused and math.isfinite(item.error)]
        errors = [abs(item.error) for item in kept]
        if not errors:
            return None
        return cls(len(kept), median(errors), max(errors), sum(item.is_inside for item in kept))


@dataclass(frozen=True, slots=True)
class MeasuredCheck:
    """Machines held out one after the other; `predictions` has one record for each of them."""

    machines: tuple[HeldOutMachine, ...]
    predictions: tuple[PlatformPrediction, ...]


def check_measured(
    matrix: ScoreMatrix,
    application: ApplicationTimes,
    *,
    confidence: float = 0.9,
    strategy: str = ENSEMBLE,
) -> MeasuredCheck:
    """Predict each machine that measured the application from the others that did.

    Of more than 25 machines, 25 evenly over their order are held out. No machine is where fewer than three
    measured it.

    Raises:
        InputError: as `predict_platforms`.
    """
    count = len(application.machines)
    if count < _FEWEST:
        return MeasuredCheck((), ())
    suite = matrix.keep_machines(application.machines)
    places = np.unique(np.linspace(0, count - 1, min(count, _MOST_HELD_OUT)).round().astype(int))
    machines, predictions = [], []
    for place in places:
        kept = np.arange(count) != place
        others = replace(
            application,
            machines=tuple(name for name, stays in zip(application.machines, kept, strict=True) if stays),
            seconds=application.seconds[kept],
            noise=application.noise[kept],
        )
        found = predict_platforms(suite, others, confidence=confidence, strategy=strategy)
        seconds = float(application.seconds[place])
        measured = seconds if application.kind == "seconds" else 1 / seconds
        machines.append(HeldOutMachine(found.predictions[0], measured))
        predictions.append(found)
    return MeasuredCheck(tuple(machines), tuple(predictions))


def summarize_check(check: MeasuredCheck, application: ApplicationTimes) -> PlatformPrediction:
    """What a prediction from all machines would rest on, where none is left to predict.

    Shares are means over the predictions of the check, the expected error is their median.
    """
    first = check.predictions[0]
    warnings = dict.fromkeys(warning for found in check.predictions for warning in found.warnings)
    return replace(
        first,
        predictions=(),
        trained=application.machines,
        benchmarks=_average([found.benchmarks for found in check.predictions]),
        machines=_average([found.machines for found in check.predictions]),
        expected_error=median(found.expected_error for found in check.predictions),
        warnings=(
            *warnings,
            "Every machine measured the application: errors and shares are those of the check.",
        ),
    )


def _average(shares: Sequence[Sequence[Carrier]]) -> tuple[Carrier, ...]:
    sums: dict[str, float] = {}
    for item in (carrier for found in shares for carrier in found):
        sums[item.name] = sums.get(item.name, 0.0) + item.share
    total = sum(sums.values()) or 1.0
    found = [Carrier(name, value / total) for name, value in sums.items()]
    return tuple(sorted(found, key=lambda item: -item.share))
