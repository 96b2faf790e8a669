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
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.places import taking_turn
from datamill.service.models import FleetExperiment


@dataclass(frozen=True, slots=True)
class FleetPrediction:
    """A prediction in words for a page, and as `datamill platforms predict --json` prints it."""

    words: ShownPrediction
    json: str


#: An experiment, a package, a response (empty: its first), and whether an empty package is its first.
_TimesKey = tuple[ExperimentKey, str, str, bool]
#: The digest of times and scores, and the level of intervals.
_PredictionKey = tuple[str, float | None]
_times: Kept[_TimesKey, PackageTimes] = Kept(64)
_predictions: Kept[_PredictionKey, FleetPrediction] = Kept(64)


def read_times(
    experiment: FleetExperiment, user: User, package: str = "", response: str = "", *, first: bool = False
) -> PackageTimes:
    """Return what a package of an experiment took on the machines that ran it.

    Without a package it is the experiment's only one, or with `first` its first one.

    Raises:
        BundleError: the database does not hold it.
        BusyError: too many wait already.
        FullError: too many bundles are being made already.
        GoneError: the client left.
        InputError: there is no such package or response, no value, or it takes too much.
    """
    key = (name_progress(experiment), package, response, first)
    if (kept := _times.recall(key)) is not None:
        return kept
    with taking_turn(user), TemporaryDirectory(prefix="datamill-times-") as folder:
        write_bundle(experiment, user, Path(folder))
        times = call_bounded(ANSWERING, read_folder, folder, experiment.pk, package, response, first)
    _times.keep(key, times)
    return times


def predict_elsewhere(
    times: PackageTimes, scores: ScoreList, user: User, confidence: float | None = None
) -> FleetPrediction:
    """Predict a package on every machine that has scores and did not run it.

    Raises:
        BusyError: too many wait already.
        GoneError: the client left.
        InputError: there are no scores, they cannot predict it, or it takes too much.
    """
    digest = hashlib.sha256(msgspec.json.encode((times, scores))).hexdigest()
    if (kept := _predictions.recall((digest, confidence))) is not None:
        return kept
    with taking_turn(user):
        predicted = call_bounded(ANSWERING, predict, scores, times, confidence)
    _predictions.keep((digest, confidence), predicted)
    return predicted


def read_folder(folder: str, number: int, package: str, response: str, first: bool) -> PackageTimes:
    """Read times in a bundle; runs in a process of its own."""
    # Statistics take a second to load, and memory that the coordinator need not have.
    from datamill.verbs.platforms.fleet_bundles import read_package_times

    return read_package_times(folder, number, package, response, first=first)


def predict(scores: ScoreList, times: PackageTimes, confidence: float | None) -> FleetPrediction:
    """Predict a package from scores; runs in a process of its own."""
    from datamill.report.platforms.page_words import phrase_page
    from datamill.verbs.platforms.fleet_tables import predict_from_fleet

    found = predict_from_fleet(scores, times, confidence=confidence)
    return FleetPrediction(phrase_page(found.prediction, found.notes), found.json())
