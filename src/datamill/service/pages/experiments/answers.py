"""The answer of an experiment on its page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from datamill.experiment.errors import InputError
from datamill.report.words.warning_order import MOST_SHOWN
from datamill.service.accounts import find_experiment, find_user
from datamill.service.answers.answering import answer_experiment
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.bundles.logs import BundleError
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.labels import speak_form
from datamill.service.states import ENDED_EXPERIMENTS
from datamill.service.watching.places import FullError


@require_GET
@member_page
def show_answer(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """What an experiment says by the trials that have ended: the words of its report."""
    experiment = find_experiment(find_user(request), experiment_id)
    context: dict[str, object] = {"experiment": experiment}
    try:
        answer = answer_experiment(experiment, find_user(request)).words
        context |= {
            "answer": answer,
            "warnings": answer.warnings[:MOST_SHOWN],
            "more_warnings": answer.warnings[MOST_SHOWN:],
            "ended": experiment.state in ENDED_EXPERIMENTS,
        }
    except (BusyError, GoneError):
        raise
    except InputError as problem:
        context |= {"problem": str(problem.told(speak_form))}
    except FullError as problem:
        context |= {"problem": str(problem)}
    except BundleError:
        context |= {"problem": "The coordinator's records of this experiment do not fit each other."}
    part = request.headers.get("HX-Request") == "true"
    template = "parts/answer.html" if part else "experiment_answer.html"
    return show_page(request, template, context, section="experiments")
