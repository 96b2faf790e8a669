"""Evaluations at several sizes: of the training set (2015, Figure 6.4) and of folds (2019, Figure 1.13)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from datamill.selection.evaluation.folds import LEAK, evaluate_per_test
from datamill.selection.evaluation.predictions import Evaluation, PredictedCase, evaluate_predictions
from datamill.selection.evaluation.rates import Area, Rate, bound_rate, measure_area
from datamill.selection.predictors.case import Case, Fit, keep_labelled

TRAINING_FOLDS = tuple(range(2, 11))
AREA_FOLDS = (2, 5, 10, 20)
#: Fewest repetitions of Figure 1.13.
REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class SizeRates:
    """Rates with so many folds: the share 1 - 1 / folds of the cases is learnt from."""

    folds: int
    hit: Rate
    dismiss: Rate


def evaluate_training_sizes(cases: Sequence[Case], fit: Fit) -> tuple[SizeRates, ...]:
    """Return hit and dismiss rate by the number of folds, from 2 to 10 (thesis 2015, Figure 6.4)."""
    found = []
    for folds in TRAINING_FOLDS:
        told = evaluate_per_test(cases, fit, folds)
        found.append(SizeRates(folds, told.hit, told.dismiss))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class RepeatedAreas:
    """Areas under the curve of each repetition with so many folds; None where a kind of case is missing."""

    folds: int
    areas: tuple[float | None, ...]


def evaluate_repeated_folds(
    cases: Sequence[Case], fit: Fit, repetitions: int = REPETITIONS
) -> tuple[RepeatedAreas, ...]:
    """Return areas of repeated k-fold cross-validation, k of 2, 5, 10 and 20 (thesis 2019, 1.9.4)."""
    found = []
    for folds in AREA_FOLDS:
        told = [evaluate_per_test(cases, fit, folds, seed).area for seed in range(repetitions)]
        found.append(RepeatedAreas(folds, tuple(area.estimate if area else None for area in told)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class IndicatorPoint:
    """Rates of an indicator alone that is true from `least` on."""

    least: float
    hit: Rate
    dismiss: Rate


def trace_indicators(cases: Sequence[Case]) -> Mapping[str, tuple[IndicatorPoint, ...]]:
    """Return for each indicator its rates at each value that occurs (thesis 2015, Figure 6.3)."""
    labelled = keep_labelled(cases)
    names = sorted({name for case in labelled for name in case.readings})
    curves: dict[str, tuple[IndicatorPoint, ...]] = {}
    for name in names:
        own = [case for case in labelled if name in case.readings]
        hits = [case.readings[name] for case in own if case.changed]
        others = [case.readings[name] for case in own if not case.changed]
        curves[name] = tuple(
            IndicatorPoint(
                least,
                bound_rate(sum(value >= least for value in hits), len(hits)),
                bound_rate(sum(value < least for value in others), len(others)),
            )
            for least in sorted({*hits, *others})
        )
    return curves


def measure_areas_by_epoch(evaluation: Evaluation) -> tuple[tuple[int, Area | None], ...]:
    """Return the area over all predictions up to each epoch (thesis 2019, Figure 1.12)."""
    found = []
    for epoch in sorted({item.part for item in evaluation.predictions}):
        known = [item for item in evaluation.predictions if item.part <= epoch]
        area = measure_area([item.score for item in known], [bool(item.case.changed) for item in known])
        found.append((epoch, area))
    return tuple(found)


def evaluate_synthetic(cases: Sequence[Case], fit: Fit, folds: int = 10, seed: int = 0) -> Evaluation:
    """Random folds over pairs of any two versions, a predictor a benchmark (thesis 2015, Table 6.4)."""
    labelled = sorted(keep_labelled(cases), key=lambda case: (case.benchmark, case.new_order, case.old_order))
    predictions: list[PredictedCase] = []
    warnings = [LEAK]
    for benchmark in sorted({case.benchmark for case in labelled}):
        own = [case for case in labelled if case.benchmark == benchmark]
        random.Random(seed).shuffle(own)
        for part in range(min(folds, len(own))):
            training = [case for index, case in enumerate(own) if index % folds != part]
            if not training:
                continue
            model = fit(training)
            warnings += model.warnings
            predictions += [
                PredictedCase(case, model.score(case), model.decides(case), part) for case in own[part::folds]
            ]
    return evaluate_predictions("synthetic pairs", predictions, warnings)


def evaluate_across(training: Sequence[Case], tested: Sequence[Case], fit: Fit) -> Evaluation:
    """Learn from other projects and predict this one's cases (thesis 2015, 6.5)."""
    model = fit(keep_labelled(training))
    predictions = [
        PredictedCase(case, model.score(case), model.decides(case), 0) for case in keep_labelled(tested)
    ]
    return evaluate_predictions("cross-project", predictions, model.warnings)
