"""An experiment analysed as its readers ask: the form with the result, its figures, the report, the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET

from datamill.experiment.errors import InputError
from datamill.report.figures.views import FigureView
from datamill.report.words.warning_order import MOST_SHOWN
from datamill.service.accounts import find_experiment, find_user
from datamill.service.answers.analyses import analyze_experiment, write_page
from datamill.service.answers.answering import answer_when_due
from datamill.service.answers.asking import read_asked
from datamill.service.answers.downloads import TABLE_TYPES, FigureKind, open_table, send_figure
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.bundles.logs import BundleError
from datamill.service.models import FleetExperiment
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.experiments.offered import QUESTIONS, list_choices
from datamill.service.watching.places import FullError

#: A page with scripts of its own gets a world of its own: nothing of this site, no network. The page of its
#: experiment shows it in a frame.
_SANDBOX = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
T = TypeVar("T")


@require_GET
@member_page
def show_analysis(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """The form of an analysis with what was chosen, and the result of that."""
    user = find_user(request)
    experiment = find_experiment(user, experiment_id)
    part = request.headers.get("HX-Request") == "true"
    sent = request.GET
    context: dict[str, object] = {
        "experiment": experiment,
        "choices": list_choices(experiment.text),
        "questions": QUESTIONS,
        "sent": {name: sent.get(name, "") for name in ("verb", "response", "by", "where", "quantiles")},
        "factors": sent.getlist("factor"),
        "query": sent.urlencode(),
    }
    try:
        asked = read_asked(sent)
        if asked is not None:
            found = vouch(lambda: analyze_experiment(experiment, user, asked))
            context |= {
                "found": found,
                "warnings": found.warnings[:MOST_SHOWN],
                "more_warnings": found.warnings[MOST_SHOWN:],
            }
    except GoneError:
        raise
    except InputError as problem:
        context["problem"] = problem
    template = "experiments/parts/answering/analysis.html" if part else "experiments/experiment_analysis.html"
    return show_page(request, template, context, section="experiments")


@require_GET
@xframe_options_sameorigin
@member_page
def show_interactive(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """The page of an analysis with figures that answer to the mouse; without a question the report."""
    user = find_user(request)
    experiment = find_experiment(user, experiment_id)
    asked = read_asked(request.GET)
    page = vouch(lambda: write_page(experiment, user, asked))
    response = HttpResponse(page, content_type="text/html; charset=utf-8")
    response["Content-Security-Policy"] = _SANDBOX
    return response


@require_GET
@member_page
def download_figure(request: HttpRequest, experiment_id: int, number: int, kind: FigureKind) -> HttpResponse:
    """A figure of an analysis, counted from 0, as a file; without a question the answer's."""
    user = find_user(request)
    experiment = find_experiment(user, experiment_id)
    figures = _list_figures(request, experiment)
    if number >= len(figures):
        raise Http404
    return vouch(lambda: send_figure(figures[number], kind, f"experiment-{experiment.pk}-{number}"))


@require_GET
@member_page
def download_table(
    request: HttpRequest, experiment_id: int, kind: Literal["csv", "parquet"]
) -> HttpResponseBase:
    """The tidy table of observations: a row for each response of each trial that has ended."""
    user = find_user(request)
    experiment = find_experiment(user, experiment_id)
    file = vouch(lambda: open_table(experiment, user, kind))
    return FileResponse(
        file,
        as_attachment=True,
        filename=f"experiment-{experiment.pk}.{kind}",
        content_type=TABLE_TYPES[kind],
    )


def _list_figures(request: HttpRequest, experiment: FleetExperiment) -> tuple[FigureView, ...]:
    user = find_user(request)
    asked = read_asked(request.GET)
    if asked is None:
        picture = vouch(lambda: answer_when_due(experiment, user)).picture
        return () if picture is None else (picture,)
    return vouch(lambda: analyze_experiment(experiment, user, asked)).figures


def vouch(infer: Callable[[], T]) -> T:
    """Return what is inferred.

    Raises:
        BusyError: as there is no place for it.
        InputError: as it, or the coordinator's records do not fit each other.
    """
    try:
        return infer()
    except FullError as problem:
        raise BusyError(str(problem)) from None
    except BundleError:
        raise InputError("the coordinator's records of this experiment do not fit each other") from None
