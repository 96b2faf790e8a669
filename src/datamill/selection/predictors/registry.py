"""The predictors by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from datamill.selection.predictors.boosting import fit_boosting
from datamill.selection.predictors.case import Case, Fit, Model
from datamill.selection.predictors.dummies import fit_always, fit_never
from datamill.selection.predictors.forest import make_forest_fit
from datamill.selection.predictors.logistic import fit_logistic
from datamill.selection.predictors.models.guarded import ScoringModel
from datamill.selection.predictors.models.linear import Logistic
from datamill.selection.predictors.operating_points import GuardedFit
from datamill.selection.predictors.perphecy import fit_perphecy
from datamill.selection.predictors.support_vectors import make_machine_fit


def fit_published(fit: Fit) -> Fit:
    """Return a way to learn from the features of the thesis of 2019 alone (Table 1.3)."""

    def learn(cases: Sequence[Case]) -> Model:
        def keep(features: Mapping[str, float]) -> dict[str, float]:
            return {name: value for name, value in features.items() if name.startswith("published.")}

        return fit([replace(case, features=keep(case.features)) for case in cases])

    return learn


@dataclass(frozen=True, slots=True)
class Predictor:
    """A way to decide which benchmarks run, and how it learns.

    `has_probabilities`: its scores are probabilities, from which a cost or a hit rate chooses.
    `learns_from_others`: it begins with what other projects taught, where that is given.
    """

    name: str
    summary: str
    fit: Fit
    has_probabilities: bool = False
    learns_from_others: bool = False


PREDICTORS = (
    Predictor("perphecy", "thresholds of indicators that find every change of the history", fit_perphecy),
    Predictor("logistic", "logistic regression that other projects taught", fit_logistic, True, True),
    Predictor("logistic-alone", "logistic regression on this history alone", fit_logistic, True),
    Predictor("boosting", "boosted stumps that only rise, with calibrated probabilities", fit_boosting, True),
    Predictor("forest-100", "random forest of 100 trees", make_forest_fit(100), True),
    Predictor("forest-500", "random forest of 500 trees", make_forest_fit(500), True),
    Predictor("forest-1000", "random forest of 1000 trees", make_forest_fit(1000), True),
    Predictor("svm-sigmoid", "support vectors, sigmoid", make_machine_fit("sigmoid"), True),
    Predictor("svm-polynomial", "support vectors, polynomial", make_machine_fit("polynomial"), True),
    Predictor("svm-rbf", "support vectors, radial basis", make_machine_fit("rbf"), True),
    Predictor("forest-2019", "forest of 100 trees on Table 1.3", fit_published(make_forest_fit(100)), True),
    Predictor("svm-2019", "radial support vectors on it", fit_published(make_machine_fit("rbf")), True),
    Predictor("always", "every benchmark of every commit", fit_always),
    Predictor("never", "no benchmark", fit_never),
)
#: What is trained unless another is asked for: the one that led the backtests on histories of real projects.
DEFAULT = "logistic"


def find_predictor(name: str) -> Predictor:
    """Return the predictor of that name.

    Raises:
        KeyError: there is none.
    """
    return {predictor.name: predictor for predictor in PREDICTORS}[name]


def choose_fit(
    predictor: Predictor, miss_cost: float, hit_rate: float | None, others: Logistic | None = None
) -> Fit:
    """Return how a predictor learns, with its operating point where it has probabilities.

    `others` is what other projects taught, for predictors that learn from them.
    """
    if not predictor.has_probabilities:
        return predictor.fit
    fit: Callable[[Sequence[Case]], ScoringModel] = predictor.fit  # type: ignore[assignment]
    if predictor.learns_from_others and others is not None:
        fit = partial(fit_logistic, others=others)
    return GuardedFit(fit, miss_cost, hit_rate)
