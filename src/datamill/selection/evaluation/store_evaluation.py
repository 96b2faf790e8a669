"""Evaluations of predictors on one project, as a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from datamill.selection.evaluation.predictions import Evaluation
from datamill.selection.evaluation.probability_classes import CalibrationClass
from datamill.selection.evaluation.rates import Area
from datamill.selection.evaluation.repeated import IndicatorPoint, RepeatedAreas, SizeRates
from datamill.selection.evaluation.savings import Savings
from datamill.selection.evaluation.sizes import SizeCheck
from datamill.selection.evaluation.splits import DistanceRates


@dataclass(frozen=True, slots=True)
class NamedEvaluation:
    """An evaluation of a predictor, with what its kind adds; `calibration` of one that has probabilities."""

    name: str
    predictor: str
    evaluation: Evaluation | None = None
    savings: Savings | None = None
    by_epoch: tuple[tuple[int, Area | None], ...] = ()
    by_distance: tuple[DistanceRates, ...] = ()
    by_size: tuple[SizeRates, ...] = ()
    by_folds: tuple[RepeatedAreas, ...] = ()
    by_benchmark: Mapping[str, Area | None] = field(default_factory=dict)
    calibration: tuple[CalibrationClass, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreEvaluation:
    """All evaluations that were asked for; `commits` are versions by their order, `sizes` how
    well sizes and directions of changes were told.
    """

    project: str
    rule: str
    response: str
    threshold: float
    versions: int
    programs: int
    identical: int
    unsure: int
    unprofiled: int
    cases: int
    changes: int
    evaluations: tuple[NamedEvaluation, ...]
    indicators: Mapping[str, tuple[IndicatorPoint, ...]]
    overlap: tuple[tuple[str, str, float], ...]
    commits: Mapping[int, str]
    sizes: SizeCheck
    warnings: tuple[str, ...]
