"""The results of experiments side by side, compared: a part of their page, and its figures as files."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from datamill.experiment.errors import InputError
from datamill.report.words.warning_order import MOST_SHOWN
from datamill.service.accounts import find_user
from datamill.service.answers.compared.comparing import FleetComparison, compare_results, find_compared
from datamill.service.answers.compared.question import spell_command
from datamill.service.answers.downloads import FigureKind, send_figure
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.experiments.again.asked import read_comparison, read_numbers
from datamill.service.pages.experiments.again.versions import build_page, show_side_by_side
from datamill.service.pages.experiments.analysis import vouch

_PART = "experiments/parts/answering/comparison.html"


@require_GET
@member_page
def show_results(request: HttpRequest) -> HttpResponse:
    """What `datamill compare` says of the experiments; by itself the whole page with it."""
    if request.headers.get("HX-Request") == "true":
        return show_page(request, _PART, _build_results(request), section="experiments")
    context = build_page(request.GET, find_user(request))
    if "versions" in context:
        context |= _build_results(request)
    return show_side_by_side(request, context)


@require_GET
@member_page
def download_figure(request: HttpRequest, number: int, kind: FigureKind) -> HttpResponse:
    """A figure of the comparison, counted from 0, as a file."""
    figures = _compare(request).figures
    if number >= len(figures):
        raise Http404
    return vouch(lambda: send_figure(figures[number], kind, f"comparison-{number}"))


def _build_results(request: HttpRequest) -> dict[str, object]:
    context: dict[str, object] = {"query": request.GET.urlencode()}
    try:
        found = _compare(request)
    except (BusyError, GoneError):
        raise
    except InputError as problem:
        return context | {"refusal": problem}
    return context | {
        "found": found,
        "warnings": found.warnings[:MOST_SHOWN],
        "more_warnings": found.warnings[MOST_SHOWN:],
        "command": spell_command(read_numbers(request.GET), found.asked),
    }


def _compare(request: HttpRequest) -> FleetComparison:
    """Compare what the address names, as it asks.

    Raises:
        InputError: it names or asks what cannot be compared, or as `compare_results`.
    """
    user = find_user(request)
    experiments = find_compared(user, read_numbers(request.GET))
    asked = read_comparison(request.GET, len(experiments))
    return vouch(lambda: compare_results(experiments, user, asked))
