"""What a page may load and do: nothing but what the coordinator itself serves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


#: For so long a browser that was here speaks TLS with this host; without names below it, which are others'.
_STRICT_S = 30 * 86400


@sync_and_async_middleware
def add_content_policy(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Add the headers by which a browser refuses scripts and files of others, whatever text a page shows."""
    if iscoroutinefunction(get_response):

        async def answer_later(request: HttpRequest) -> HttpResponse:
            return _add_headers(request, await get_response(request))

        return answer_later

    def answer(request: HttpRequest) -> HttpResponse:
        return _add_headers(request, get_response(request))

    return answer


def _add_headers(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    response.headers.setdefault("Content-Security-Policy", CONTENT_POLICY)
    response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
    response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
    # What a page shows is for the user who asked, and leaves with that user a browser that others use.
    response.headers.setdefault("Cache-Control", "no-store")
    if request.is_secure():
        if not _is_local(request):
            response.headers.setdefault("Strict-Transport-Security", f"max-age={_STRICT_S}")
        for cookie in response.cookies.values():
            cookie["secure"] = True
    return response


def _is_local(request: HttpRequest) -> bool:
    """Tell whether a browser reaches us as `localhost`, where other servers are that speak no TLS."""
    host = request.META.get("HTTP_HOST", "").rpartition(":")[0] or request.META.get("HTTP_HOST", "")
    return host in ("localhost", "127.0.0.1", "[::1]") or host.endswith(".localhost")
