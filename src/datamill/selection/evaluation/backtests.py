"""Evaluations in the order of the history: what was learnt is always older than what is predicted."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.selection.evaluation.predictions import Evaluation, PredictedCase, evaluate_predictions
from datamill.selection.predictors.case import Case, Fit, keep_labelled

#: Commits that are predicted after each epoch (thesis 2019, 1.8).
AHEAD = 5


def evaluate_epochs(cases: Sequence[Case], fit: Fit, *, first: int, ahead: int = AHEAD) -> Evaluation:
    """Backtest by epochs, one predictor a benchmark (thesis 2019, method 4).

    An epoch ends with a version that was profiled and is at least the `first` in the order. What is learnt
    are the cases up to it, of each new version against its closest older one; what is predicted are the next
    `ahead` versions, each against the version that ends the epoch. Algorithm 2 as printed never counts its
    epochs and fills the test set from the training set: this does what the text says. Cases must hold the
    pairs that are predicted; those that are missing are left out, with a warning.
    """
    labelled = keep_labelled(cases)
    predictions: list[PredictedCase] = []
    warnings: list[str] = []
    missing = 0
    for benchmark in sorted({case.benchmark for case in labelled}):
        own = [case for case in labelled if case.benchmark == benchmark]
        pairs = {(case.old_order, case.new_order): case for case in own}
        orders = sorted({order for pair in pairs for order in pair})
        closest = _find_closest(own)
        for place, epoch in enumerate(orders[:-1]):
            training = [case for case in closest if case.new_order <= epoch]
            if epoch < first or not training:
                continue
            wanted = orders[place + 1 : place + 1 + ahead]
            tested = [pairs[epoch, order] for order in wanted if (epoch, order) in pairs]
            missing += len(wanted) - len(tested)
            if not tested:
                continue
            model = fit(training)
            warnings += model.warnings
            predictions += [
                PredictedCase(case, model.score(case), model.decides(case), epoch) for case in tested
            ]
    if missing:
        warnings.append(f"{missing} pairs of an epoch and a commit after it were not among the cases")
    return evaluate_predictions(f"epochs, {ahead} ahead", predictions, warnings)


def evaluate_pooled_epochs(cases: Sequence[Case], fit: Fit, *, first: int, ahead: int = AHEAD) -> Evaluation:
    """Backtest by epochs on the same cases, with one predictor of all benchmarks.

    What is learnt are the cases of all benchmarks up to the version that ends the epoch.
    """
    labelled = keep_labelled(cases)
    closest = _find_closest(labelled)
    pairs: dict[str, dict[tuple[int, int], Case]] = {}
    for case in labelled:
        pairs.setdefault(case.benchmark, {})[case.old_order, case.new_order] = case
    orders = {name: sorted({order for pair in own for order in pair}) for name, own in pairs.items()}
    predictions: list[PredictedCase] = []
    warnings: list[str] = []
    for epoch in sorted({order for own in orders.values() for order in own if order >= first}):
        tested = []
        for name, own in sorted(pairs.items()):
            later = [order for order in orders[name] if order > epoch][:ahead]
            tested += [own[epoch, order] for order in later if (epoch, order) in own]
        training = [case for case in closest if case.new_order <= epoch]
        if not tested or not training:
            continue
        model = fit(training)
        warnings += model.warnings
        predictions += [PredictedCase(case, model.score(case), model.decides(case), epoch) for case in tested]
    return evaluate_predictions(f"epochs of all benchmarks, {ahead} ahead", predictions, warnings)


def evaluate_walk(cases: Sequence[Case], fit: Fit, *, first: int, window: int | None = None) -> Evaluation:
    """Walk forward with one predictor of all benchmarks: each version against its closest older one.

    The thesis of 2019 asks for it in 1.10.

    What is learnt are the cases whose new version is older than the predicted one, with `window` only so many
    versions of them; predictions begin with the version `first` in the order.
    """
    closest = _find_closest(keep_labelled(cases))
    orders = sorted({case.new_order for case in closest})
    predictions: list[PredictedCase] = []
    warnings: list[str] = []
    for place, order in enumerate(orders):
        known = orders[max(0, place - window) : place] if window is not None else orders[:place]
        training = [case for case in closest if case.new_order in set(known)]
        if order < first or not training:
            continue
        model = fit(training)
        warnings += model.warnings
        predictions += [
            PredictedCase(case, model.score(case), model.decides(case), order)
            for case in closest
            if case.new_order == order
        ]
    return evaluate_predictions("walk forward", predictions, warnings)


def _find_closest(cases: Sequence[Case]) -> list[Case]:
    """Of the cases of each benchmark and new version the one whose old version is the latest, in order."""
    best: dict[tuple[str, int], Case] = {}
    for case in cases:
        key = (case.benchmark, case.new_order)
        if case.old_order < case.new_order and (key not in best or best[key].old_order < case.old_order):
            best[key] = case
    return sorted(best.values(), key=lambda case: (case.new_order, case.benchmark))
