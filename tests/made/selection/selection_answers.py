"""Answers of the selection as its commands print them, made of small histories."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from made.selection.selection_records import make_case, make_function, make_profile, make_table

from datamill.conduct.selection.collecting.begun_settings import BegunSettings
from datamill.conduct.selection.deciding.bisect_change import Bisection, MeasuredStep
from datamill.conduct.selection.deciding.train_model import Training
from datamill.selection.evaluation.backtests import evaluate_epochs
from datamill.selection.evaluation.probability_classes import measure_calibration
from datamill.selection.evaluation.rates import bound_rate
from datamill.selection.evaluation.repeated import (
    evaluate_repeated_folds,
    evaluate_training_sizes,
    measure_areas_by_epoch,
    trace_indicators,
)
from datamill.selection.evaluation.savings import count_savings
from datamill.selection.evaluation.sizes import SizeCheck, SizeCoverage
from datamill.selection.evaluation.splits import evaluate_distance
from datamill.selection.evaluation.store_evaluation import NamedEvaluation, StoreEvaluation
from datamill.selection.history.collection import Pairing
from datamill.selection.history.collection_outcome import CollectionOutcome
from datamill.selection.history.recognised_builds import RecognisedBuild
from datamill.selection.history.records import Version
from datamill.selection.history.settings import BenchmarkSetting, SelectionSettings, TruthSetting
from datamill.selection.prediction.commit_prediction import CommitPrediction, predict_commit
from datamill.selection.prediction.direction import LearnedDirection
from datamill.selection.prediction.magnitude import Magnitude
from datamill.selection.prediction.search import SuspectVersion
from datamill.selection.prediction.trained_model import TrainedModel
from datamill.selection.predictors.perphecy import fit_perphecy

CASES = [
    make_case(order, order % 3 == 0, top_by_calls=100.0 * (order % 3 == 0) + order) for order in range(1, 25)
]


def find_project(*_: object) -> SimpleNamespace:
    """A project whose commands are all answered by what stands below."""
    settings = SelectionSettings(("p",), (BenchmarkSetting("bench", "p"),))
    return SimpleNamespace(
        settings=settings, settings_file=Path("s"), store=None, here=Path(), history=object()
    )


def begin_settings(*_: object, **__: object) -> BegunSettings:
    """A project of make with one binary."""
    return BegunSettings(Path("selection.toml"), (RecognisedBuild("make", "make -j2"),), ("program",))


def collect(*_: object) -> CollectionOutcome:
    """Two versions, one of which does not build."""
    return CollectionOutcome(2, 2, 1, 1, 1, 1, 5, True, (("no rule", 1),), (("b", "ends", 1),), ("shallow",))


def make_trained() -> TrainedModel:
    """A predictor of a small history."""
    model = fit_perphecy([make_case(1, True, top_by_calls=100.0), make_case(2, False, top_by_calls=0.0)])
    direction = LearnedDirection(9, 8, True)
    return TrainedModel(
        "perphecy",
        model,
        model,
        direction,
        TruthSetting(),
        24,
        8,
        ("small",),
        magnitude=Magnitude(0.02, 0.01, 0.2, 0.9, 20),
    )


def train(*_: object) -> Training:
    """That predictor, with what it was learnt from."""
    return Training(make_trained(), Pairing(tuple(CASES), 1, 1, 1), 25)


def predict(*_: object) -> CommitPrediction:
    """A change of the hottest function."""
    return predict_commit(
        make_trained(),
        Version("a" * 40, 0, "built", program="old"),
        Version("b" * 40, 1, "built", program="new", hops=1),
        (make_table(make_function("hot")), make_table(make_function("hot", "edited", 12))),
        {"bench": make_profile(hot=(9, 900))},
        ["bench"],
        {},
    )


def evaluate(*_: object) -> StoreEvaluation:
    """Evaluations of Perphecy, one of each kind."""
    epochs = evaluate_epochs(CASES, fit_perphecy, first=5, ahead=1)
    distance, rates = evaluate_distance(CASES, fit_perphecy)
    found = NamedEvaluation(
        "epochs",
        "perphecy",
        epochs,
        count_savings(epochs.predictions, {"bench": 1.0}, 5),
        by_epoch=measure_areas_by_epoch(epochs),
        by_distance=rates,
        by_size=evaluate_training_sizes(CASES, fit_perphecy),
        by_folds=evaluate_repeated_folds(CASES, fit_perphecy, 1),
        by_benchmark={"bench": epochs.area},
        calibration=measure_calibration(epochs.predictions),
    )
    assert distance.method == "distance"
    covered = SizeCoverage(0, None, bound_rate(10, 12), bound_rate(9, 10), bound_rate(4, 5))
    return StoreEvaluation(
        project="p",
        rule="relevant",
        response="wall",
        threshold=0.01,
        versions=25,
        programs=25,
        identical=1,
        unsure=1,
        unprofiled=1,
        cases=24,
        changes=8,
        evaluations=(found,),
        indicators=trace_indicators(CASES),
        overlap=(("bench", "other", 0.5),),
        commits={order: str(order) for order in range(25)},
        sizes=SizeCheck(
            0.9, covered, (covered,), bound_rate(3, 8), bound_rate(2, 3), bound_rate(5, 7), bound_rate(3, 5)
        ),
        warnings=("small",),
    )


def bisect(*_: object, **__: object) -> Bisection:
    """A commit that was found with one measurement."""
    candidate = SuspectVersion("c" * 40, "Change it", "p", 0.5, 1.0, 5.0)
    step = MeasuredStep("c" * 40, 1.2, True)
    return Bisection("bench", "a" * 40, "b" * 40, 1.2, (candidate,), (step,), "c" * 40, ("small",))
