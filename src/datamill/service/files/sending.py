"""A file of the store as an answer of a page."""

from __future__ import annotations

from django.http import FileResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header

from datamill.service.accounts import NotFoundError
from datamill.service.bundles.tar_stream import send_pieces
from datamill.service.files.disk import DiskFile
from datamill.service.files.store import find_file


def send_file(sha256: str, name: str) -> StreamingHttpResponse:
    """Answer with a file under a name; never shown in the browser, since anyone may have written it.

    Raises:
        AwayError: the storage of files does not answer.
        NotFoundError: it is kept no longer.
    """
    kept = find_file(sha256)
    if kept is None:
        raise NotFoundError("the file is not in the store any more")
    if isinstance(kept, DiskFile):
        return FileResponse(
            kept.source.open("rb"),
            as_attachment=True,
            filename=name,
            content_type="application/octet-stream",
        )
    response = StreamingHttpResponse(
        send_pieces(kept.read(), lambda: None), content_type="application/octet-stream"
    )
    response["Content-Length"] = str(kept.size_bytes)
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    return response
