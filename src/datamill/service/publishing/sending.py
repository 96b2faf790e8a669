"""Archives as answers, streamed: of a publication, or of what nobody has published."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from datamill.experiment.errors import InputError
from datamill.results.crates.description import describe_unpublished
from datamill.service.answers.answering import refuse_early_look
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.bundles.tar_stream import send_pieces
from datamill.service.files.store import AwayError
from datamill.service.models import FleetExperiment
from datamill.service.publishing.making import making_archive
from datamill.service.publishing.publishing import (
    find_archive,
    find_publication,
    read_statement,
    suggest_title,
)
from datamill.service.publishing.statements import MAKING
from datamill.service.publishing.tables import Publication
from datamill.service.watching.places import BUNDLES

_PIECE_BYTES = 1 << 18
_MAKING = replace(MAKING, remedy="Take the bundle home with datamill fetch.")


def send_archive(request: HttpRequest, publication: Publication) -> HttpResponseBase:
    """Answer with the archive as it was published; 304 where the reader has it.

    Raises:
        AwayError, DamagedError, WithdrawnError: as `find_archive`.
    """
    kept = find_archive(publication)
    etag = f'"{publication.sha256}"'
    if request.headers.get("If-None-Match") == etag:
        return HttpResponse(status=304, headers={"ETag": etag})
    name = f"{read_statement(publication).experiment}-{publication.key}.zip"
    pieces = kept.read()
    try:
        # A storage that is away says so before the answer begins.
        first = next(pieces, b"")
    except FileNotFoundError:
        # It was removed since: what is known of it now says why.
        return send_archive(request, find_publication(publication.key))
    response = _send(chain((first,), pieces), publication.size_bytes, name)
    response["ETag"] = etag
    return response


def send_crate(experiment: FleetExperiment, user: User) -> StreamingHttpResponse:
    """Answer with an experiment that has ended as the archive that its publication would have.

    It says that its authors have given no licence. It is made for this answer, and is kept nowhere.

    Raises:
        AwayError, BundleError, BusyError, FullDiskError, GoneError: as `making_archive`.
        EarlyLookError: it has not ended.
        FullError: too many bundles are being sent already.
        InputError: nothing was measured, or it is too large.
    """
    refuse_early_look(experiment)
    owner = experiment.owner.get_full_name() or experiment.owner.username
    description = describe_unpublished(suggest_title(experiment), owner, now_s=time.time())
    # It takes room on the disk until it was sent.
    place = BUNDLES.take(user.pk)
    try:
        with making_archive(experiment, user, description, budget=_MAKING) as draft:
            # Its name goes when this ends, the file when it was sent.
            file = draft.path.open("rb")
    except BaseException as problem:
        place.leave()
        if isinstance(problem, InputError) and not isinstance(problem, AwayError | BusyError | GoneError):
            # Where its bundle stood meanwhile says nothing to a reader.
            raise problem.moved(f"experiment {experiment.pk}") from None
        raise

    def end() -> None:
        file.close()
        place.leave()

    pieces = iter(lambda: file.read(_PIECE_BYTES), b"")
    return _send(pieces, draft.made.size_bytes, f"{experiment.name}-{experiment.pk}.zip", end)


def _send(
    pieces: Iterator[bytes], size_bytes: int, name: str, end: Callable[[], None] = lambda: None
) -> StreamingHttpResponse:
    response = StreamingHttpResponse(send_pieces(pieces, end), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Content-Length"] = str(size_bytes)
    return response
