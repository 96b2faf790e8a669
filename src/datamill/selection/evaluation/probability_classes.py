"""Whether changes are as frequent as they were predicted to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from datamill.selection.evaluation.predictions import PredictedCase
from datamill.selection.evaluation.rates import Rate, bound_rate

#: Where classes of predicted probabilities begin and end.
EDGES = (0.0, 0.05, 0.2, 0.5, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class CalibrationClass:
    """Cases with a predicted probability from `low` to below `high`; the last class has its end too.

    `mean` is that of the predicted probabilities, None without cases; `observed` the share that changed.
    """

    low: float
    high: float
    mean: float | None
    observed: Rate


def measure_calibration(predictions: Sequence[PredictedCase]) -> tuple[CalibrationClass, ...]:
    """Return the reliability of predicted probabilities, a class after the other."""
    classes = []
    for low, high in pairwise(EDGES):
        own = [item for item in predictions if low <= item.score < high or item.score == high == EDGES[-1]]
        mean = sum(item.score for item in own) / len(own) if own else None
        changed = sum(bool(item.case.changed) for item in own)
        classes.append(CalibrationClass(low, high, mean, bound_rate(changed, len(own))))
    return tuple(classes)
