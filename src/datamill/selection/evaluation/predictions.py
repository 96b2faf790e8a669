"""What a predictor said of cases that it had not learnt from, and how well that was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from datamill.selection.evaluation.rates import (
    Area,
    OperatingPoint,
    Rate,
    bound_rate,
    find_hit_rate,
    measure_area,
    trace_curve,
)
from datamill.selection.predictors.case import Case

#: Shares of unchanged cases that are dismissed, at which hit rates are reported.
DISMISSED = (0.5, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class PredictedCase:
    """A case with what was predicted of it, in the part of the evaluation (fold, epoch) of that number."""

    case: Case
    score: float
    run: bool
    part: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How well predictions were, over all parts together.

    `at_dismissed` are the points of the curve with the highest hit rate where at least 50, 80 and 90% of
    unchanged cases are dismissed. `warnings` are in sentences.
    """

    method: str
    predictions: tuple[PredictedCase, ...]
    hit: Rate
    dismiss: Rate
    area: Area | None
    curve: tuple[OperatingPoint, ...]
    at_dismissed: tuple[tuple[float, OperatingPoint | None], ...]
    warnings: tuple[str, ...]


def evaluate_predictions(
    method: str, predictions: Sequence[PredictedCase], warnings: Sequence[str] = ()
) -> Evaluation:
    """Compare predictions with what was measured.

    The hit rate is the share of changed cases that ran, the dismiss rate the share of unchanged ones that did
    not (thesis 2015, 6.4.2).
    """
    scores = [item.score for item in predictions]
    changed = [bool(item.case.changed) for item in predictions]
    hits = [item for item in predictions if item.case.changed]
    others = [item for item in predictions if not item.case.changed]
    curve = trace_curve(scores, changed)
    told = list(dict.fromkeys(warnings))
    if not hits:
        told.append("no case changed: there is no hit rate")
    elif len(hits) < 10:
        told.append(f"only {len(hits)} cases changed: the hit rate is hardly known")
    return Evaluation(
        method=method,
        predictions=tuple(predictions),
        hit=bound_rate(sum(item.run for item in hits), len(hits)),
        dismiss=bound_rate(sum(not item.run for item in others), len(others)),
        area=measure_area(scores, changed),
        curve=curve,
        at_dismissed=tuple((share, find_hit_rate(curve, share)) for share in DISMISSED),
        warnings=tuple(told),
    )
