"""Evaluations that split commits or pairs once: methods 1 to 3 of 2019, and distance in commits of 2015."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from datamill.selection.evaluation.predictions import Evaluation, PredictedCase, evaluate_predictions
from datamill.selection.evaluation.rates import Rate, bound_rate
from datamill.selection.predictors.case import Case, Fit, keep_labelled

#: Share that is learnt from (thesis 2019, 1.7), and the share of the oldest versions of Figure 6.5 (2015).
TRAINED, OLDEST = 0.7, 0.25
LEAKS = "pairs of far and of near versions are mixed at random: rates are too good for commits to come"


def evaluate_method_1(cases: Sequence[Case], fit: Fit, seed: int = 0) -> Evaluation:
    """Learn from a random 70% of pairs of any two versions, and predict the others (thesis 2019, 1.7)."""
    predictions: list[PredictedCase] = []
    warnings = [LEAKS]
    for benchmark, own in _by_benchmark(cases).items():
        order = list(own)
        random.Random(f"{seed} {benchmark}").shuffle(order)
        cut = round(TRAINED * len(order))
        _predict(order[:cut], order[cut:], fit, predictions, warnings)
    return evaluate_predictions("method 1", predictions, warnings)


def evaluate_method_2(cases: Sequence[Case], fit: Fit, seed: int = 0) -> Evaluation:
    """Learn from pairs within a random 70% of versions, and predict pairs within the others (2019, 1.7)."""
    predictions: list[PredictedCase] = []
    warnings = [LEAKS]
    for benchmark, own in _by_benchmark(cases).items():
        orders = sorted({order for case in own for order in (case.old_order, case.new_order)})
        random.Random(f"{seed} {benchmark}").shuffle(orders)
        known = set(orders[: round(TRAINED * len(orders))])
        training = [case for case in own if {case.old_order, case.new_order} <= known]
        tested = [case for case in own if not known & {case.old_order, case.new_order}]
        _predict(training, tested, fit, predictions, warnings)
    return evaluate_predictions("method 2", predictions, warnings)


def find_boundary(orders: Sequence[int], share: float = TRAINED) -> int | None:
    """Return the last of the oldest versions that are learnt from; None where fewer than two are there."""
    ordered = sorted(set(orders))
    return ordered[max(1, round(share * len(ordered)) - 1)] if len(ordered) > 2 else None


def evaluate_method_3(cases: Sequence[Case], fit: Fit) -> Evaluation:
    """Learn from pairs within the oldest 70% of versions, and predict each later one against the last.

    Source: thesis 2019, 1.7.
    """
    predictions: list[PredictedCase] = []
    warnings: list[str] = []
    for own in _by_benchmark(cases).values():
        boundary = find_boundary([order for case in own for order in (case.old_order, case.new_order)])
        if boundary is None:
            continue
        training = [case for case in own if case.new_order <= boundary]
        tested = [case for case in own if case.old_order == boundary]
        _predict(training, tested, fit, predictions, warnings)
    return evaluate_predictions("method 3", predictions, warnings)


@dataclass(frozen=True, slots=True)
class DistanceRates:
    """Hit and dismiss rate of predictions so many versions after the last that was learnt from."""

    hops: int
    hit: Rate
    dismiss: Rate


def evaluate_distance(cases: Sequence[Case], fit: Fit) -> tuple[Evaluation, tuple[DistanceRates, ...]]:
    """Learn from the oldest quarter, and predict all later versions against its last (2015, Figure 6.5).

    Cases must hold each later version against that one; what is learnt are closest pairs.
    """
    predictions: list[PredictedCase] = []
    warnings: list[str] = []
    for own in _by_benchmark(cases).values():
        orders = sorted({order for case in own for order in (case.old_order, case.new_order)})
        boundary = find_boundary(orders, OLDEST)
        if boundary is None:
            continue
        place = {order: number for number, order in enumerate(orders)}
        training = [
            case
            for case in own
            if case.new_order <= boundary and place[case.new_order] - place[case.old_order] == 1
        ]
        tested = [case for case in own if case.old_order == boundary]
        if not training or not tested:
            continue
        model = fit(training)
        warnings += model.warnings
        predictions += [
            PredictedCase(
                case, model.score(case), model.decides(case), place[case.new_order] - place[boundary]
            )
            for case in tested
        ]
    rates = []
    for hops in sorted({item.part for item in predictions}):
        here = [item for item in predictions if item.part == hops]
        hits = [item for item in here if item.case.changed]
        others = [item for item in here if not item.case.changed]
        rates.append(
            DistanceRates(
                hops,
                bound_rate(sum(item.run for item in hits), len(hits)),
                bound_rate(sum(not item.run for item in others), len(others)),
            )
        )
    return evaluate_predictions("distance", predictions, warnings), tuple(rates)


def _by_benchmark(cases: Sequence[Case]) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in sorted(
        keep_labelled(cases), key=lambda case: (case.benchmark, case.new_order, case.old_order)
    ):
        found.setdefault(case.benchmark, []).append(case)
    return found


def _predict(
    training: Sequence[Case],
    tested: Sequence[Case],
    fit: Fit,
    predictions: list[PredictedCase],
    warnings: list[str],
) -> None:
    if not training or not tested:
        return
    model = fit(training)
    warnings += model.warnings
    predictions += [PredictedCase(case, model.score(case), model.decides(case), 0) for case in tested]
