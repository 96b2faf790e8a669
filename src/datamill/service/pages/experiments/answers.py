"""The answer of an experiment on its page."""

from __future__ import annotations

import time
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.messages.numbers import format_count
from datamill.experiment.messages.phrases import count_nouns
from datamill.report.words.warning_order import MOST_SHOWN
from datamill.service.accounts import find_experiment, find_user
from datamill.service.answers.answering import NoAnswerError, answer_experiment
from datamill.service.answers.verdicts import forget_failure
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.bundles.logs import BundleError
from datamill.service.models import FleetExperiment
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.experiments.trials.trial_counts import TrialCounts
from datamill.service.pages.labels import speak_form
from datamill.service.progress import count_progress
from datamill.service.states import ENDED_EXPERIMENTS
from datamill.service.watching.places import FullError


@dataclass(frozen=True, slots=True)
class Later:
    """Why there is no answer yet, and when there will be one."""

    headline: str
    details: tuple[str, ...]


@require_GET
@member_page
def show_answer(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """What an experiment says: the words of its report, with the picture of the first sentence.

    While trials come in, only intervals are shown that hold however often one looks: those of an experiment
    that was planned to be looked at.
    """
    experiment = find_experiment(find_user(request), experiment_id)
    ended = experiment.state in ENDED_EXPERIMENTS
    context: dict[str, object] = {"experiment": experiment, "ended": ended}
    try:
        later = None if ended else _put_off(experiment)
        if later is None:
            found = answer_experiment(experiment, find_user(request))
            later = None if ended or found.looks else _await_look()
        if later is None:
            context |= {
                "answer": found.words,
                "picture": found.picture,
                "warnings": found.words.warnings[:MOST_SHOWN],
                "more_warnings": found.words.warnings[MOST_SHOWN:],
            }
        else:
            context["later"] = later
    except (BusyError, GoneError):
        raise
    except InputError as problem:
        kept = ended or isinstance(problem, NoAnswerError)
        context |= {"problem": _tell_problem(problem), "again": kept}
    except FullError as problem:
        context |= {"problem": str(problem)}
    except BundleError:
        unfit = "The coordinator's records of this experiment do not fit each other."
        context |= {"problem": unfit, "again": ended}
    part = request.headers.get("HX-Request") == "true"
    template = "experiments/parts/answering/answer.html" if part else "experiments/experiment_answer.html"
    return show_page(request, template, context, section="experiments")


@require_POST
@member_page
def answer_again(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """Have an answer worked out again that could not be: what stood in its way may be gone."""
    experiment = find_experiment(find_user(request), experiment_id)
    forget_failure(experiment)
    return redirect("experiment", experiment_id)


def _tell_problem(problem: InputError) -> str:
    told = problem.told(speak_form)
    sentence = f"{told.message[:1].upper()}{told.message[1:]}".rstrip(".")
    return f"{sentence}. {told.remedy}".strip()


def _put_off(experiment: FleetExperiment) -> Later | None:
    """Return why an experiment that goes on has no answer before its end; None where it is sequential."""
    if parse_experiment(experiment.text, name="experiment.toml").until is not None:
        return None
    counts = TrialCounts(count_progress(experiment, time.time()).trials)
    return Later(
        f"Not before the end: {format_count(counts.counted)} of {count_nouns(counts.total, 'trial')} have "
        "counted.",
        (
            "The number of trials was fixed before the first one. Its intervals hold only once, when all "
            "have ended: looking earlier, or again and again, misleads more often than they say.",
            "An experiment with [until] may be looked at while it grows: its intervals hold at every look.",
        ),
    )


def _await_look() -> Later:
    return Later(
        "Not before the first look.",
        (
            "This experiment is looked at after each batch of trials, with intervals that hold at every "
            "look. The first batch has not ended.",
        ),
    )
