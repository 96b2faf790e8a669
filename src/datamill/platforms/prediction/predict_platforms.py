"""An application's time on machines that did not measure it, with intervals that hold and refusals."""

from __future__ import annotations

from typing import NoReturn

from datamill.experiment.errors import InputError
from datamill.platforms.prediction.held_out import add_check
from datamill.platforms.prediction.infer_platforms import ENSEMBLE, infer_platforms
from datamill.platforms.prediction.platform_prediction import LIMIT, PlatformPrediction
from datamill.platforms.scores.score_matrix import ApplicationTimes, ScoreMatrix


def predict_platforms(
    matrix: ScoreMatrix,
    application: ApplicationTimes,
    *,
    confidence: float = 0.9,
    limit: float = LIMIT,
    strategy: str = ENSEMBLE,
) -> PlatformPrediction:
    """Predict an application on every machine of the suite that did not measure it.

    The ensemble's weights, the size of its errors and the width of its intervals are learned from the
    suite's benchmarks, each taken for the application in turn on the same machines (split conformal
    prediction over benchmarks, errors divided by the size that was expected of them). So an interval covers
    at the stated rate an application that is as unlike the suite as its benchmarks are unlike each other.
    The machines that measured the application are predicted as well, each from the others (`add_check`).

    Args:
        matrix: the suite.
        application: where it was measured.
        confidence: that of the prediction intervals.
        limit: errors above this share are to be avoided; predictions that may reach it are refused.
        strategy: what predicts; its name in `strategies/registry.py`.

    Raises:
        InputError: as `arrange_application`; no machine is left to predict, or a number is outside its range.
    """
    prediction = fit_platforms(matrix, application, confidence=confidence, limit=limit, strategy=strategy)
    if not prediction.predictions:
        _refuse_nothing_left()
    return prediction


def fit_platforms(
    matrix: ScoreMatrix,
    application: ApplicationTimes,
    *,
    confidence: float = 0.9,
    limit: float = LIMIT,
    strategy: str = ENSEMBLE,
) -> PlatformPrediction:
    """Predict as `predict_platforms`, or where every machine measured the application, check it alone.

    Raises:
        InputError: as `predict_platforms`, but where no machine is left: fewer than three measured it then.
    """
    prediction, _, _ = infer_platforms(
        matrix, application, confidence=confidence, limit=limit, strategy=strategy
    )
    checked = add_check(prediction, matrix, application)
    if not checked.judged:
        _refuse_nothing_left()
    return checked


def _refuse_nothing_left() -> NoReturn:
    raise InputError(
        "no machine is left to predict: the application was measured on every machine of the suite",
        remedy="Add a machine to the scores on which the application was not measured.",
    )
