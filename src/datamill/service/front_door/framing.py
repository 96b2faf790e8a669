"""Requests whose end two servers would see in different places are refused, and headers that nobody means."""

from __future__ import annotations

from msgspec.structs import asdict
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response

from datamill.protocol.api.problems import Problem


def find_refusal(headers: Headers) -> Response | None:
    """Return the refusal of a request that a proxy before us may have read as two, None for others."""
    if "transfer-encoding" in headers and "content-length" in headers:
        message = "the request has a length and is sent in chunks: one of both is wrong"
    elif len(headers.getlist("host")) > 1 or len(headers.getlist("authorization")) > 1:
        message = "the request repeats a header that may come once"
    else:
        return None
    return JSONResponse(asdict(Problem(message, "headers")), 400, {"connection": "close"})
