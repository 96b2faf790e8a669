"""The archive of a publication as an answer, streamed from its file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from datamill.service.bundles.tar_stream import send_pieces
from datamill.service.publishing.archives import find_archive
from datamill.service.publishing.publishing import check_readable, read_statement
from datamill.service.publishing.tables import Publication

_PIECE_BYTES = 1 << 18


def send_archive(request: HttpRequest, publication: Publication) -> HttpResponseBase:
    """Answer with the archive as it was published; 304 where the reader has it.

    Raises:
        DamagedError: its archive is not what was published.
        WithdrawnError: it was withdrawn.
    """
    check_readable(publication)
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


def _read(path: Path) -> Iterator[bytes]:
    with path.open("rb") as handle:
        while piece := handle.read(_PIECE_BYTES):
            yield piece
