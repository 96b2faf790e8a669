"""What readers take home: the archive of a publication and how it is cited, an experiment as an RO-Crate."""

from __future__ import annotations

from typing import Literal

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from datamill.experiment.errors import InputError
from datamill.results.crates.citation import cite_as_bibtex, cite_as_cff, cite_as_text
from datamill.service.accounts import find_experiment, find_user
from datamill.service.answers.answering import EarlyLookError
from datamill.service.bundles.logs import BundleError
from datamill.service.models import Publication
from datamill.service.pages.access import member_page, open_page, refuse
from datamill.service.publishing.publishing import (
    DamagedError,
    WithdrawnError,
    check_readable,
    check_standing,
    find_publication,
    read_description,
)
from datamill.service.publishing.sending import send_archive, send_crate
from datamill.service.watching.places import FullError

_CITATIONS = {
    "txt": (cite_as_text, "text/plain; charset=utf-8", "citation.txt"),
    "bib": (cite_as_bibtex, "application/x-bibtex; charset=utf-8", "citation.bib"),
    "cff": (cite_as_cff, "application/yaml; charset=utf-8", "CITATION.cff"),
}


@require_GET
@open_page
def download_archive(request: HttpRequest, key: str) -> HttpResponseBase:
    """The archive as it was published, an RO-Crate; a damaged one is not sent."""
    publication = find_publication(key)
    try:
        return send_archive(request, publication)
    except (WithdrawnError, DamagedError) as problem:
        return _refuse(request, problem)


@require_GET
@open_page
def download_citation(request: HttpRequest, key: str, kind: Literal["txt", "bib", "cff"]) -> HttpResponse:
    """How a publication is cited; that of a withdrawn one is no longer given."""
    publication = find_publication(key)
    try:
        check_standing(publication)
    except WithdrawnError as problem:
        return _refuse(request, problem)
    cite, content_type, name = _CITATIONS[kind]
    response = HttpResponse(cite(read_description(publication)), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_GET
@member_page
def download_crate(request: HttpRequest, experiment_id: int) -> HttpResponseBase:
    """An experiment that has ended as an RO-Crate, before anybody has published it."""
    user = find_user(request)
    experiment = find_experiment(user, experiment_id)
    try:
        return send_crate(experiment, user)
    except EarlyLookError as problem:
        return refuse(request, problem, "The experiment has not ended", 409)
    except FullError as full:
        error = InputError(str(full), remedy="Wait until one has arrived, or end one.")
        return refuse(request, error, "Too many bundles at once", 429)
    except BundleError as problem:
        # A crate that would be wrong is not sent.
        error = InputError(str(problem), remedy="Tell the people who run this coordinator.")
        return refuse(request, error, "The coordinator cannot vouch for this experiment", 500)


def refuse_lost(request: HttpRequest, publication: Publication) -> HttpResponse | None:
    """Refuse what rests on an archive that was withdrawn or is damaged; None where it is whole."""
    try:
        check_readable(publication)
    except (WithdrawnError, DamagedError) as problem:
        return _refuse(request, problem)
    return None


def _refuse(request: HttpRequest, problem: WithdrawnError | DamagedError) -> HttpResponse:
    if isinstance(problem, WithdrawnError):
        return refuse(request, problem, "Withdrawn", 410)
    return refuse(request, problem, "Damaged", 503)
