"""The predictors by name."""

from __future__ import annotations

from dataclasses import dataclass

from datamill.selection.predictors.boosting import fit_boosting
from datamill.selection.predictors.case import Fit
from datamill.selection.predictors.dummies import fit_always, fit_never
from datamill.selection.predictors.logistic import fit_logistic
from datamill.selection.predictors.perphecy import fit_perphecy


@dataclass(frozen=True, slots=True)
class Predictor:
    """A way to decide which benchmarks run, and how it learns."""

    name: str
    summary: str
    fit: Fit


PREDICTORS = (
    Predictor("perphecy", "thresholds of indicators that find every change of the history", fit_perphecy),
    Predictor("logistic", "logistic regression on all features", fit_logistic),
    Predictor("boosting", "boosted stumps that only rise, with calibrated probabilities", fit_boosting),
    Predictor("always", "every benchmark of every commit", fit_always),
    Predictor("never", "no benchmark", fit_never),
)


def find_predictor(name: str) -> Predictor:
    """Return the predictor of that name.

    Raises:
        KeyError: there is none.
    """
    return {predictor.name: predictor for predictor in PREDICTORS}[name]
