"""A package of an experiment on machines that did not run it, predicted in a process of its own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from django.contrib.auth.models import User

from datamill.protocol.api.machines import PackageTimes, ScoreList
from datamill.report.platforms.shown_prediction import ShownPrediction
from datamill.service.answers.bundle_folders import ANSWERING, write_bundle
from datamill.service.answers.kept import ExperimentKey, Kept, name_progress
from datamill.service.answers.machine_scores import gather_scores
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.places import taking_turn
from datamill.service.models import FleetExperiment


@dataclass(frozen=True, slots=True)
class FleetPrediction:
    """A prediction in words for a page, and as `datamill platforms predict --json` prints it."""

    words: ShownPrediction
    json: str


#: An experiment, a package and a response; empty: the only package, the first response.
_TimesKey = tuple[ExperimentKey, str, str]
#: Times, the digest of the scores, and the level of intervals.
_PredictionKey = tuple[_TimesKey, str, float | None]
_times: Kept[_TimesKey, PackageTimes] = Kept(64)
_predictions: Kept[_PredictionKey, FleetPrediction] = Kept(64)


def read_times(
    experiment: FleetExperiment, user: User, package: str = "", response: str = ""
) -> PackageTimes:
    """Return what a package of an experiment took on the machines that ran it.

    Raises:
        BundleError: the database does not hold it.
        BusyError: too many wait already.
        FullError: too many bundles are being made already.
        GoneError: the client left.
        InputError: there is no such package or response, no value, or it takes too much.
    """
    key = (name_progress(experiment), package, response)
    if (kept := _times.recall(key)) is not None:
        return kept
    with taking_turn(user), TemporaryDirectory(prefix="datamill-times-") as folder:
        write_bundle(experiment, user, Path(folder))
        times = call_bounded(ANSWERING, read_folder, folder, experiment.pk, package, response)
    _times.keep(key, times)
    return times


def predict_elsewhere(
    experiment: FleetExperiment,
    user: User,
    package: str = "",
    response: str = "",
    confidence: float | None = None,
) -> FleetPrediction:
    """Predict a package of an experiment on every machine that has scores and did not run it.

    Raises:
        InputError: as `read_times`, there are no scores, or they cannot predict it.
        BundleError, BusyError, FullError, GoneError: as `read_times`.
    """
    times = read_times(experiment, user, package, response)
    scores = gather_scores(user)
    digest = hashlib.sha256(msgspec.json.encode(scores)).hexdigest()
    key = ((name_progress(experiment), package, response), digest, confidence)
    if (kept := _predictions.recall(key)) is not None:
        return kept
    with taking_turn(user):
        predicted = call_bounded(ANSWERING, predict, scores, times, confidence)
    _predictions.keep(key, predicted)
    return predicted


def read_folder(folder: str, number: int, package: str, response: str) -> PackageTimes:
    """Read times in a bundle; runs in a process of its own."""
    # Statistics take a second to load, and memory that the coordinator need not have.
    from datamill.verbs.platforms.fleet_tables import read_package_times

    return read_package_times(folder, number, package, response)


def predict(scores: ScoreList, times: PackageTimes, confidence: float | None) -> FleetPrediction:
    """Predict a package from scores; runs in a process of its own."""
    from datamill.report.platforms.page_words import phrase_page
    from datamill.verbs.platforms.fleet_tables import predict_from_fleet

    found = predict_from_fleet(scores, times, confidence=confidence)
    return FleetPrediction(phrase_page(found.prediction, found.notes), found.json())
