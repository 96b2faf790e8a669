"""What an experiment of the fleet says so far, inferred in a process of its own."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from django.contrib.auth.models import User

from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.messages.numbers import format_count
from datamill.experiment.messages.phrases import count_nouns
from datamill.report.figures.views import FigureView
from datamill.report.words.answer import Answer
from datamill.service.answers.bundle_folders import ANSWERING, write_bundle
from datamill.service.answers.kept import ExperimentKey, Kept, name_progress
from datamill.service.answers.verdicts import keep_failure, keep_verdict, recall_verdict
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.places import taking_turn
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.bundles.logs import BundleError
from datamill.service.files.store import AwayError
from datamill.service.models import FleetExperiment
from datamill.service.progress import count_progress
from datamill.service.states import ENDED_EXPERIMENTS, TrialState

log = logging.getLogger("datamill.coordinator")

#: What readers are told of records that contradict each other; the log has which.
UNFIT = "the coordinator's records of this experiment do not fit each other"
#: Answers that are kept until trials end that they do not know.
_MOST_KEPT = 64


class NoAnswerError(InputError):
    """The trials of an experiment that has ended give no answer, as was found when it was asked for."""


class EarlyLookError(InputError):
    """An experiment that goes on has no intervals that hold at this look; `details` say when it will."""

    def __init__(self, message: str, details: tuple[str, ...]) -> None:
        super().__init__(message, remedy=" ".join(details))
        self.details = details


@dataclass(frozen=True, slots=True)
class FleetAnswer:
    """The answer of an experiment in words, its picture where something is compared, all figures as JSON.

    `looks` counts the looks at a sequential experiment, whose intervals hold at each of them.
    """

    looks: int
    words: Answer
    picture: FigureView | None
    json: str


_kept: Kept[ExperimentKey, FleetAnswer] = Kept(_MOST_KEPT)


def answer_experiment(experiment: FleetExperiment, user: User) -> FleetAnswer:
    """Answer the question of an experiment by the trials that have ended, as `datamill fetch` does.

    What fails once all trials have ended is kept as well, until `forget_failure`: it would fail again.

    Raises:
        AwayError: the storage of files does not answer.
        BundleError: the database does not hold what an answer needs.
        BusyError: too many wait already.
        FullError: too many bundles are being made already.
        GoneError: the client left.
        InputError: the trials give no answer, or one takes more than the coordinator gives an analysis.
        NoAnswerError: so it was found before.
    """
    key = name_progress(experiment)
    if (kept := _kept.recall(key)) is not None:
        return kept
    failed = recall_verdict(experiment)
    if failed is not None and failed.failure:
        if failed.failure == UNFIT:
            raise BundleError(UNFIT)
        raise NoAnswerError(failed.failure, remedy=failed.remedy)
    try:
        with taking_turn(user), TemporaryDirectory(prefix="datamill-answer-") as folder:
            write_bundle(experiment, user, Path(folder))
            answer: FleetAnswer = call_bounded(ANSWERING, answer_folder, folder)
    except (AwayError, BusyError, GoneError):
        raise
    except InputError as problem:
        # Where its bundle stood meanwhile says nothing to a reader.
        keep_failure(experiment, problem.message, problem.remedy)
        raise problem.moved(f"experiment {experiment.pk}") from None
    except BundleError as problem:
        log.error("experiment %s has no bundle to answer from: %s", experiment.pk, problem)
        keep_failure(experiment, UNFIT, "Tell the people who run this coordinator.")
        raise
    _kept.keep(key, answer)
    keep_verdict(experiment, answer.words.headline, answer.words.n)
    return answer


def answer_when_due(experiment: FleetExperiment, user: User) -> FleetAnswer:
    """Answer the question of an experiment by intervals that hold however often one looks.

    Raises:
        EarlyLookError: it goes on, and was not planned to be looked at, or its first look is to come.
        BundleError, BusyError, FullError, GoneError, InputError, NoAnswerError: as `answer_experiment`.
    """
    if parse_experiment(experiment.text, name="experiment.toml").until is None:
        refuse_early_look(experiment)
    found = answer_experiment(experiment, user)
    if experiment.state not in ENDED_EXPERIMENTS and not found.looks:
        raise EarlyLookError(
            "not before the first look",
            (
                "This experiment is looked at after each batch of trials, with intervals that hold at every "
                "look. The first batch has not ended.",
            ),
        )
    return found


def refuse_early_look(experiment: FleetExperiment) -> None:
    """Refuse figures whose intervals hold only once, when all trials have ended.

    Raises:
        EarlyLookError: the experiment goes on.
    """
    if experiment.state in ENDED_EXPERIMENTS:
        return
    told = f"not before the end: {tell_counted(experiment)}"
    if parse_experiment(experiment.text, name="experiment.toml").until is not None:
        raise EarlyLookError(
            told,
            (
                "It stops by what it sees: only its own report has intervals that hold at each look. Ask "
                "again when it has ended.",
            ),
        )
    raise EarlyLookError(
        told,
        (
            "The number of trials was fixed before the first one. Its intervals hold only once, when all "
            "have ended: looking earlier, or again and again, misleads more often than they say.",
            "An experiment with [until] may be looked at while it grows: its intervals hold at every look.",
        ),
    )


def tell_counted(experiment: FleetExperiment) -> str:
    """Say how many of the trials that were planned so far have counted."""
    counts = count_progress(experiment, time.time()).trials
    counted, total = counts.get(TrialState.COUNTED, 0), sum(counts.values())
    return f"{format_count(counted)} of {count_nouns(total, 'trial')} have counted"


def answer_folder(folder: str) -> FleetAnswer:
    """Answer the question of a bundle in a folder; runs in a process of its own."""
    # Statistics take a second to load, and memory that the coordinator need not have.
    from datamill.service.answers.drawing import draw_views
    from datamill.verbs.answer import answer

    found = answer(folder)
    figure = found.figure()
    picture = None if figure is None else draw_views([figure])[0]
    return FleetAnswer(len(found.trials.decisions), found.answer, picture, found.json())
