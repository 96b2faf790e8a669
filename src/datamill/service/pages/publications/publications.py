"""The list of published results, and the page of one: what everybody may read and cite."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from datamill.report.words.warning_order import MOST_SHOWN
from datamill.results.crates.citation import cite_as_bibtex, cite_as_text
from datamill.results.crates.description import LICENCES, Description
from datamill.service.accounts import find_user, is_admin
from datamill.service.experiment_search import MOST_CHARACTERS, match_file, split_search
from datamill.service.models import Publication
from datamill.service.pages.access import open_page, show_page
from datamill.service.publishing.archives import is_intact
from datamill.service.publishing.publishing import (
    HELD_BACK,
    find_publication,
    list_publications,
    read_description,
    read_statement,
)
from datamill.service.publishing.reproductions import count_verdicts, list_judged, tally_verdicts

_A_PAGE = 25
_MOST_RERUNS = 50


@dataclass(frozen=True, slots=True)
class PublicationRow:
    """A publication in the list; of a withdrawn one there is no headline."""

    publication: Publication
    description: Description
    headline: str
    reproduced: str


@require_GET
@open_page
def list_results(request: HttpRequest) -> HttpResponse:
    """All published results, the latest first, or those of which title, authors or packages have a word."""
    search = request.GET.get("search", "")[:MOST_CHARACTERS].strip()
    page = Paginator(_search(search), _A_PAGE).get_page(request.GET.get("page"))
    rows = [_show_row(publication) for publication in page]
    query = f"{urlencode({'search': search})}&" if search else ""
    context = {"rows": rows, "page": page, "search": search, "query": query}
    return show_page(request, "publications/publications.html", context, section="publications")


def _search(search: str) -> QuerySet[Publication]:
    """Return the publications that have all words; the file of a withdrawn one is private again."""
    found = list_publications()
    for word in split_search(search):
        in_file = Q(withdrawn_unix_s=None) & match_file(word, "experiment__")
        found = found.filter(Q(words__icontains=word) | in_file)
    return found


def _show_row(publication: Publication) -> PublicationRow:
    withdrawn = publication.withdrawn_unix_s is not None
    headline = "" if withdrawn else read_statement(publication).headline
    return PublicationRow(
        publication,
        read_description(publication),
        headline,
        "" if withdrawn else count_verdicts(tally_verdicts(publication.experiment_id)),
    )


@require_GET
@open_page
def show_result(request: HttpRequest, key: str) -> HttpResponse:
    """One published result; of a withdrawn one the reason, of one whose archive is damaged no numbers."""
    publication = find_publication(key)
    description = read_description(publication)
    base = request.build_absolute_uri(reverse("publication", args=[publication.key]))
    context: dict[str, object] = {
        "publication": publication,
        "description": description,
        "licence_address": LICENCES.get(description.licence, ""),
        "text": cite_as_text(description),
        "bibtex": cite_as_bibtex(description),
        "base": base,
    }
    if publication.withdrawn_unix_s is not None:
        return show_page(request, "publications/withdrawn.html", context, section="publications", status=410)
    user = find_user(request)
    context["mine"] = publication.publisher_id == user.pk or is_admin(user)
    context["intact"] = intact = is_intact(publication)
    if intact:
        statement = read_statement(publication)
        context |= {
            "statement": statement,
            "held_back": [HELD_BACK.get(name, name) for name in statement.held_back],
            "warnings": statement.warnings[:MOST_SHOWN],
            "more_warnings": statement.warnings[MOST_SHOWN:],
            "reruns": list_judged(publication.experiment_id, user)[:_MOST_RERUNS],
        }
    return show_page(request, "publications/publication.html", context, section="publications")
