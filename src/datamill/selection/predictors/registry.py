"""The predictors by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from datamill.selection.predictors.boosting import fit_boosting
from datamill.selection.predictors.case import Case, Fit
from datamill.selection.predictors.dummies import fit_always, fit_never
from datamill.selection.predictors.forest import make_forest_fit
from datamill.selection.predictors.logistic import fit_logistic
from datamill.selection.predictors.models.guarded import ScoringModel
from datamill.selection.predictors.operating_points import GuardedFit
from datamill.selection.predictors.perphecy import fit_perphecy
from datamill.selection.predictors.support_vectors import make_machine_fit


@dataclass(frozen=True, slots=True)
class Predictor:
    """A way to decide which benchmarks run, and how it learns.

    `has_probabilities`: its scores are probabilities, from which a cost or a hit rate chooses.
    """

    name: str
    summary: str
    fit: Fit
    has_probabilities: bool = False


PREDICTORS = (
    Predictor("perphecy", "thresholds of indicators that find every change of the history", fit_perphecy),
    Predictor("logistic", "logistic regression on all features", fit_logistic, True),
    Predictor("boosting", "boosted stumps that only rise, with calibrated probabilities", fit_boosting, True),
    Predictor("forest-100", "random forest of 100 trees", make_forest_fit(100), True),
    Predictor("forest-500", "random forest of 500 trees", make_forest_fit(500), True),
    Predictor("forest-1000", "random forest of 1000 trees", make_forest_fit(1000), True),
    Predictor("svm-sigmoid", "support vectors, sigmoid", make_machine_fit("sigmoid"), True),
    Predictor("svm-polynomial", "support vectors, polynomial", make_machine_fit("polynomial"), True),
    Predictor("svm-rbf", "support vectors, radial basis", make_machine_fit("rbf"), True),
    Predictor("always", "every benchmark of every commit", fit_always),
    Predictor("never", "no benchmark", fit_never),
)
#: What is trained unless another is asked for: the one that led the backtest on the history of lz4.
DEFAULT = "logistic"


def find_predictor(name: str) -> Predictor:
    """Return the predictor of that name.

    Raises:
        KeyError: there is none.
    """
    return {predictor.name: predictor for predictor in PREDICTORS}[name]


def choose_fit(predictor: Predictor, miss_cost: float, hit_rate: float | None) -> Fit:
    """Return how a predictor learns, with its operating point where it has probabilities."""
    if not predictor.has_probabilities:
        return predictor.fit
    fit: Callable[[Sequence[Case]], ScoringModel] = predictor.fit  # type: ignore[assignment]
    return GuardedFit(fit, miss_cost, hit_rate)
