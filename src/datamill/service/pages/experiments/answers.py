"""The answer of an experiment on its page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from datamill.experiment.errors import InputError
from datamill.report.words.warning_order import MOST_SHOWN
from datamill.service.accounts import find_experiment, find_user
from datamill.service.answers.answering import EarlyLookError, NoAnswerError, answer_when_due
from datamill.service.answers.verdicts import forget_failure
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.bundles.logs import BundleError
from datamill.service.files.store import AwayError
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.labels import speak_form
from datamill.service.states import ENDED_EXPERIMENTS
from datamill.service.watching.places import FullError


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
        found = answer_when_due(experiment, find_user(request))
        context |= {
            "answer": found.words,
            "picture": found.picture,
            "warnings": found.words.warnings[:MOST_SHOWN],
            "more_warnings": found.words.warnings[MOST_SHOWN:],
        }
    except (AwayError, BusyError, GoneError):
        raise
    except EarlyLookError as problem:
        context["later"] = problem
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
