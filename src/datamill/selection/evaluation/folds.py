"""The evaluations of 2015: on what was learnt, and in random folds (thesis 2015, Table 6.3)."""

from __future__ import annotations

import random
from collections.abc import Sequence

from datamill.selection.evaluation.predictions import Evaluation, PredictedCase, evaluate_predictions
from datamill.selection.predictors.case import Case, Fit, keep_labelled

LEAK = "neighbouring commits are in training and in test: rates are too good for commits to come"


def evaluate_full(cases: Sequence[Case], fit: Fit) -> Evaluation:
    """Learn from all cases of each benchmark and predict the same: the column "Full"."""
    labelled = keep_labelled(cases)
    predictions, warnings = [], ["predicted what was learnt: this is not a prediction"]
    for part, benchmark in enumerate(_benchmarks(labelled)):
        own = [case for case in labelled if case.benchmark == benchmark]
        made, told = _predict(fit, own, own, part)
        predictions += made
        warnings += told
    return evaluate_predictions("full", predictions, warnings)


def evaluate_per_test(cases: Sequence[Case], fit: Fit, folds: int = 10, seed: int = 0) -> Evaluation:
    """Random folds with one predictor a benchmark: the column "Per Test"."""
    labelled = keep_labelled(cases)
    predictions, warnings = [], [LEAK]
    for benchmark in _benchmarks(labelled):
        own = [case for case in labelled if case.benchmark == benchmark]
        made, told = _fold(own, fit, folds, seed)
        predictions += made
        warnings += told
    return evaluate_predictions(f"{folds}-fold, per test", predictions, warnings)


def evaluate_all_tests(cases: Sequence[Case], fit: Fit, folds: int = 10, seed: int = 0) -> Evaluation:
    """Random folds with one predictor of all benchmarks: the column "All Tests"."""
    predictions, warnings = _fold(keep_labelled(cases), fit, folds, seed)
    return evaluate_predictions(f"{folds}-fold, all tests", predictions, [LEAK, *warnings])


def _benchmarks(cases: Sequence[Case]) -> list[str]:
    return sorted({case.benchmark for case in cases})


def _fold(cases: list[Case], fit: Fit, folds: int, seed: int) -> tuple[list[PredictedCase], list[str]]:
    order = list(range(len(cases)))
    random.Random(seed).shuffle(order)
    predictions: list[PredictedCase] = []
    warnings: list[str] = []
    for part in range(min(folds, len(cases))):
        tested = set(order[part::folds])
        made, told = _predict(
            fit,
            [case for index, case in enumerate(cases) if index not in tested],
            [cases[index] for index in sorted(tested)],
            part,
        )
        predictions += made
        warnings += told
    return predictions, warnings


def _predict(
    fit: Fit, training: Sequence[Case], tested: Sequence[Case], part: int
) -> tuple[list[PredictedCase], tuple[str, ...]]:
    model = fit(training)
    made = [PredictedCase(case, model.score(case), model.decides(case), part) for case in tested]
    return made, model.warnings
