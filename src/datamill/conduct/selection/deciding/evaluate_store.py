"""Predictors evaluated on what a store holds, each evaluation by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from datamill.conduct.selection.collecting.settings_file import Project
from datamill.conduct.selection.deciding.other_projects import read_other_sizes, read_others
from datamill.conduct.selection.deciding.train_model import (
    choose_truth,
    read_collection,
    warn_of_no_truth,
)
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.selection.evaluation.backtests import (
    AHEAD,
    evaluate_epochs,
    evaluate_pooled_epochs,
    evaluate_walk,
)
from datamill.selection.evaluation.folds import evaluate_all_tests, evaluate_full, evaluate_per_test
from datamill.selection.evaluation.predictions import Evaluation
from datamill.selection.evaluation.probability_classes import measure_calibration
from datamill.selection.evaluation.rates import Area, measure_area
from datamill.selection.evaluation.repeated import (
    evaluate_across,
    evaluate_repeated_folds,
    evaluate_synthetic,
    evaluate_training_sizes,
    measure_areas_by_epoch,
    trace_indicators,
)
from datamill.selection.evaluation.savings import count_savings
from datamill.selection.evaluation.splits import (
    OLDEST,
    TRAINED,
    DistanceRates,
    evaluate_distance,
    evaluate_method_1,
    evaluate_method_2,
    evaluate_method_3,
    find_boundary,
)
from datamill.selection.evaluation.store_evaluation import NamedEvaluation, StoreEvaluation
from datamill.selection.history.collection import (
    Collection,
    Pairing,
    build_cases,
    list_any_pairs,
    list_closest_pairs,
    list_pairs_after,
    list_pairs_ahead,
)
from datamill.selection.history.settings import TruthSetting
from datamill.selection.history.truth import find_threshold
from datamill.selection.prediction.checked_sizes import check_sizes
from datamill.selection.predictors.case import Case, Fit
from datamill.selection.predictors.registry import choose_fit, find_predictor

#: Commits ahead of an epoch in Table 1.6 of 2019, beside the five of its text.
AHEADS = (1, 10, 20, 50, 100)
#: Evaluations by name, with what they are.
EVALUATIONS: Mapping[str, str] = {
    "epochs": "backtest by epochs, 5 versions ahead (2019, method 4)",
    "pooled-epochs": "the same, with one predictor of all benchmarks",
    "walk": "walk forward, all benchmarks together",
    "full": "what was learnt, predicted again (2015, Table 6.3)",
    "per-test": "10 random folds, a predictor a benchmark (2015, Table 6.3)",
    "all-tests": "10 random folds, one predictor (2015, Table 6.3)",
    "indicators": "each indicator alone at each threshold (2015, Figure 6.3)",
    "sizes": "2 to 10 folds (2015, Figure 6.4)",
    "distance": "by distance from the last known version (2015, Figure 6.5)",
    "synthetic": "folds over pairs of any two versions (2015, Table 6.4)",
    "cross-project": "learnt from other stores (2015, 6.5)",
    "method-1": "random pairs (2019)",
    "method-2": "pairs of random versions (2019)",
    "method-3": "the oldest 70% against the rest (2019)",
    "aheads": "epochs with 1, 10, 20, 50 and 100 versions ahead (2019, Table 1.6)",
    "folds": "2, 5, 10 and 20 folds, three times each (2019, Figure 1.13)",
}
DEFAULTS = ("epochs", "walk")
#: Pairs of any two versions that are looked at, at random.
MOST_PAIRS = 1500
#: Share of the history after which backtests begin to predict.
FIRST_SHARE = 0.2


class _Material:
    """Cases of pairs, made when they are first needed."""

    def __init__(self, collection: Collection, truth: TruthSetting) -> None:
        self._collection, self._truth = collection, truth

    @cached_property
    def closest(self) -> Pairing:
        return build_cases(self._collection, list_closest_pairs(self._collection), self._truth)

    @cached_property
    def ahead(self) -> Pairing:
        return self._build(list_pairs_ahead(self._collection, AHEAD))

    @cached_property
    def far_ahead(self) -> Pairing:
        return self._build(list_pairs_ahead(self._collection, max(AHEADS)))

    @cached_property
    def any_pairs(self) -> Pairing:
        return self._build(list_any_pairs(self._collection, MOST_PAIRS, 0))

    def after(self, share: float) -> Pairing:
        """Closest pairs, or any pairs for method 3, and each later version against the boundary."""
        orders = [version.order for version in self._collection.built]
        boundary = find_boundary(orders, share)
        if boundary is None:
            return Pairing(())
        pairs = list_pairs_after(self._collection, boundary)
        before = list_any_pairs(self._collection, MOST_PAIRS, 0) if share == TRAINED else []
        early = [pair for pair in before if pair[1].order <= boundary]
        closest = [] if before else list_closest_pairs(self._collection)
        return self._build([*closest, *early, *pairs])

    def _build(self, pairs: Sequence[object]) -> Pairing:
        return build_cases(self._collection, pairs, self._truth)  # type: ignore[arg-type]


def evaluate_store(
    project: Project,
    names: Sequence[str],
    predictors: Sequence[str],
    rule: str | None = None,
    miss_cost: float = 19.0,
    hit_rate: float | None = None,
    others: Sequence[Project] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> StoreEvaluation:
    """Evaluate predictors on a store.

    Raises:
        InputError: nothing was collected, or cross-project is asked for without another store.
    """
    collection = read_collection(project)
    truth = choose_truth(project.settings.truth, rule)
    material = _Material(collection, truth)
    first = _find_first(collection)
    labelled = [case for case in material.closest.cases if case.changed is not None]
    warnings: list[str] = []
    if not labelled:
        warnings.append(warn_of_no_truth(collection, truth, "evaluate"))
    elif not any(case.changed for case in labelled):
        warnings.append("no case changed: there is no hit rate, and nothing to learn")
    warnings += collection.warn_of_spread(truth)
    elsewhere: list[Case] = []
    if "cross-project" in names:
        if not others:
            raise InputError(
                "cross-project needs another store",
                remedy=f"Name one or more: {argument('other', 'FOLDER', verb='selection evaluate')}.",
            )
        for other in others:
            there = read_collection(other)
            rule_there = choose_truth(other.settings.truth, rule)
            elsewhere += build_cases(there, list_closest_pairs(there), rule_there).cases
    others_taught = read_others(project.settings.name)
    found: list[NamedEvaluation] = []
    for predictor in predictors:
        fit = choose_fit(find_predictor(predictor), miss_cost, hit_rate, others_taught)
        for name in names:
            if name == "indicators":
                continue
            tell(f"{predictor}: {name}")
            found += _evaluate(name, predictor, fit, material, collection, first, elsewhere)
    return StoreEvaluation(
        project=project.settings.name or project.here.name,
        rule=truth.rule,
        response=truth.response,
        threshold=find_threshold(truth),
        versions=len(collection.built),
        programs=len({version.program for version in collection.built}),
        identical=material.closest.identical,
        unsure=material.closest.unsure,
        unprofiled=material.closest.unprofiled,
        cases=len(labelled),
        changes=sum(bool(case.changed) for case in labelled),
        evaluations=tuple(found),
        indicators=trace_indicators(labelled) if "indicators" in names else {},
        overlap=_measure_overlap(collection),
        commits={version.order: version.commit for version in collection.built},
        sizes=check_sizes(labelled, find_threshold(truth), read_other_sizes(project.settings.name, truth)),
        warnings=tuple(warnings),
    )


def _find_first(collection: Collection) -> int:
    """The order of the version from which backtests predict."""
    built = collection.built
    return built[min(len(built) - 1, round(FIRST_SHARE * len(built)))].order


def _evaluate(
    name: str,
    predictor: str,
    fit: Fit,
    material: _Material,
    collection: Collection,
    first: int,
    elsewhere: Sequence[Case],
) -> list[NamedEvaluation]:
    closest = material.closest.cases
    if name == "aheads":
        cases = material.far_ahead.cases
        made = []
        for ahead in AHEADS:
            told = evaluate_epochs(cases, fit, first=first, ahead=ahead)
            made.append(_finish(f"epochs-{ahead}", predictor, told, collection))
        return made
    if name == "sizes":
        return [NamedEvaluation(name, predictor, by_size=evaluate_training_sizes(closest, fit))]
    if name == "folds":
        return [NamedEvaluation(name, predictor, by_folds=evaluate_repeated_folds(closest, fit))]
    if name == "distance":
        told, rates = evaluate_distance(material.after(OLDEST).cases, fit)
        return [_finish(name, predictor, told, collection, by_distance=rates)]
    if name in ("epochs", "pooled-epochs"):
        backtest = evaluate_epochs if name == "epochs" else evaluate_pooled_epochs
        told = backtest(material.ahead.cases, fit, first=first)
        return [_finish(name, predictor, told, collection, by_epoch=measure_areas_by_epoch(told))]
    plain: dict[str, Callable[[], Evaluation]] = {
        "walk": lambda: evaluate_walk(closest, fit, first=first),
        "full": lambda: evaluate_full(closest, fit),
        "per-test": lambda: evaluate_per_test(closest, fit),
        "all-tests": lambda: evaluate_all_tests(closest, fit),
        "synthetic": lambda: evaluate_synthetic(material.any_pairs.cases, fit),
        "cross-project": lambda: evaluate_across(elsewhere, closest, fit),
        "method-1": lambda: evaluate_method_1(material.any_pairs.cases, fit),
        "method-2": lambda: evaluate_method_2(material.any_pairs.cases, fit),
        "method-3": lambda: evaluate_method_3(material.after(TRAINED).cases, fit),
    }
    return [_finish(name, predictor, plain[name](), collection)]


def _finish(
    name: str,
    predictor: str,
    told: Evaluation,
    collection: Collection,
    *,
    by_epoch: tuple[tuple[int, Area | None], ...] = (),
    by_distance: tuple[DistanceRates, ...] = (),
) -> NamedEvaluation:
    benchmarks = sorted({item.case.benchmark for item in told.predictions})
    areas = {}
    for benchmark in benchmarks:
        own = [item for item in told.predictions if item.case.benchmark == benchmark]
        areas[benchmark] = measure_area(
            [item.score for item in own], [bool(item.case.changed) for item in own]
        )
    return NamedEvaluation(
        name=name,
        predictor=predictor,
        evaluation=told,
        savings=count_savings(told.predictions, collection.mean_seconds, collection.settings.repetitions),
        by_epoch=by_epoch,
        by_distance=by_distance,
        by_benchmark=areas,
        calibration=(
            measure_calibration(told.predictions) if find_predictor(predictor).has_probabilities else ()
        ),
    )


def _measure_overlap(collection: Collection) -> tuple[tuple[str, str, float], ...]:
    """Functions that two benchmarks both reach, as a share of those that either does, in the latest profile.

    Source: thesis 2015, 6.6.
    """
    for version in reversed(collection.built):
        profiles = collection.profiles.get(version.program, {})
        if len(profiles) > 1:
            names = [name for name in collection.benchmarks if name in profiles]
            return tuple(
                (
                    first,
                    second,
                    len(profiles[first].reached & profiles[second].reached)
                    / len(profiles[first].reached | profiles[second].reached),
                )
                for place, first in enumerate(names)
                for second in names[place + 1 :]
            )
    return ()
