"""What readers of a publication take home: its archive, and how it is cited."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from datamill.experiment.errors import InputError
from datamill.results.crates.citation import cite_as_bibtex, cite_as_cff, cite_as_text
from datamill.service.bundles.tar_stream import send_pieces
from datamill.service.models import Publication
from datamill.service.pages.access import open_page, refuse
from datamill.service.publishing.archives import find_archive, is_intact
from datamill.service.publishing.publishing import find_publication, read_description, read_statement

_PIECE_BYTES = 1 << 18
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
    if (refused := refuse_lost(request, publication)) is not None:
        return refused
    etag = f'"{publication.sha256}"'
    if request.headers.get("If-None-Match") == etag:
        return HttpResponse(status=304, headers={"ETag": etag})
    path = find_archive(publication.sha256)
    response = StreamingHttpResponse(send_pieces(_read(path), lambda: None), content_type="application/zip")
    name = f"{read_statement(publication).experiment}-{publication.key}.zip"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Content-Length"] = str(publication.size_bytes)
    response["ETag"] = etag
    return response


@require_GET
@open_page
def download_citation(request: HttpRequest, key: str, kind: Literal["txt", "bib", "cff"]) -> HttpResponse:
    """How a publication is cited; that of a withdrawn one is no longer given."""
    publication = find_publication(key)
    if publication.withdrawn_unix_s is not None:
        return refuse_withdrawn(request, publication)
    cite, content_type, name = _CITATIONS[kind]
    response = HttpResponse(cite(read_description(publication)), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def refuse_lost(request: HttpRequest, publication: Publication) -> HttpResponse | None:
    """Refuse what rests on an archive that was withdrawn or is damaged; None where it is whole."""
    if publication.withdrawn_unix_s is not None:
        return refuse_withdrawn(request, publication)
    if is_intact(publication):
        return None
    problem = InputError(
        "the archive of this publication is damaged on this coordinator: it is not what was published",
        where=f"publication {publication.key}",
        remedy="Tell the people who run this coordinator: a backup has it.",
    )
    return refuse(request, problem, "Damaged", 503)


def refuse_withdrawn(request: HttpRequest, publication: Publication) -> HttpResponse:
    """Say that a publication was withdrawn, and why."""
    problem = InputError(
        f"this publication was withdrawn: {publication.withdrawn_reason}",
        where=f"publication {publication.key}",
    )
    return refuse(request, problem, "Withdrawn", 410)


def _read(path: Path) -> Iterator[bytes]:
    with path.open("rb") as handle:
        while piece := handle.read(_PIECE_BYTES):
            yield piece
