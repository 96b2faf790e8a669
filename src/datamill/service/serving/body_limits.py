"""How much of a request's body is taken: Django takes all of it before it asks who sends it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from urllib.parse import urlencode

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.db import close_old_connections
from django.http import HttpRequest
from msgspec.structs import asdict
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from datamill.experiment.messages.numbers import format_given
from datamill.experiment.quantities import format_size
from datamill.protocol.api.problems import Problem
from datamill.service.accounts import find_user_of_key
from datamill.service.front_door.referring_page import find_referring_page
from datamill.service.front_door.visitors.visitors import mark_member

#: Of members' requests but packages that come through the browser; of everybody's; of a machine that joins.
MOST_BODY_BYTES = 4 << 20
SMALL_BODY_BYTES = 64 << 10
MOST_ENROL_BYTES = 1 << 20
ENROL_PATH = "/api/workers/enrol"
#: Large bodies that are taken at a time: of one member, and of all machines that join.
MOST_OF_MEMBER = 4
MOST_OF_STRANGERS = 16
_STRANGERS = "strangers"
UPLOAD_PATH = "/experiments/new/upload"
#: What a form has around the files in it.
_FORM_BYTES = 1 << 20
#: A sender that is silent for so long is gone.
_IDLE_S = 60.0
#: What a person sees of a refusal.
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Not taken · datamill</title></head><body><main>
<h1>Not taken</h1><p>{told}</p><p>Go back: what you typed is still in the form.</p></main></body></html>
"""
_PAGE_HEADERS = {"content-security-policy": "default-src 'none'", "cache-control": "no-store"}


class _BodyRefusedError(Exception):
    """A body is too long, or does not come; `status` is the answer, `way` where a browser is led to."""

    def __init__(self, status: int, message: str, remedy: str = "", *, way: str = "", **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.remedy = remedy
        self.way = way
        self.headers = {"connection": "close"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }


class LimitedBodies:
    """An ASGI application before Django that refuses bodies which are too long, as they say or as they come.

    They lie in memory, or on the disk, before any page is asked. So larger ones are taken from members alone,
    few of each at a time, and small ones from everybody.
    """

    def __init__(self, application: ASGIApp) -> None:
        self._application = application
        self._under_way: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = Headers(scope=scope)
        try:
            most, sender = await _find_limit(scope, headers)
            told = headers.get("content-length", "0")
            if told.isascii() and told.isdecimal() and int(told) > most:
                remedy = "" if sender else f"Log in first: members may send {format_size(MOST_BODY_BYTES)}."
                raise _BodyRefusedError(413, f"the request has more than {format_size(most)}", remedy)
            with self._count(sender):
                await self._application(scope, _LimitedReceive(receive, most), send)
        except _BodyRefusedError as problem:
            # What is still to come is not read.
            await _answer(problem, str(scope["path"]), headers)(scope, receive, send)

    @contextmanager
    def _count(self, sender: str) -> Iterator[None]:
        """Hold a place for a large body, where its sender has one left; small ones have no sender."""
        if not sender:
            yield
            return
        if self._under_way[sender] >= (MOST_OF_STRANGERS if sender == _STRANGERS else MOST_OF_MEMBER):
            raise _BodyRefusedError(
                429,
                "too many large requests are under way",
                "Send them one after the other.",
                retry_after="5",
            )
        self._under_way[sender] += 1
        try:
            yield
        finally:
            self._under_way[sender] -= 1
            if not self._under_way[sender]:
                del self._under_way[sender]


class _LimitedReceive:
    """Receives a body up to a limit."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._left = self._most = most
        self._ended = False

    async def __call__(self) -> Message:
        """Return the next message."""
        if self._ended:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), _IDLE_S)
        except TimeoutError:
            raise _BodyRefusedError(408, f"nothing came for {format_given(_IDLE_S)} s") from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self._ended = not message.get("more_body", False)
            if self._left < 0:
                raise _BodyRefusedError(413, f"the request has more than {format_size(self._most)}")
        return message


def _answer(problem: _BodyRefusedError, path: str, headers: Headers) -> Response:
    """Return the answer to a body that is refused: a page for people, a record for programs."""
    if problem.way:
        return RedirectResponse(problem.way, 303, problem.headers)
    is_part = "hx-request" in headers or path.startswith("/api/")
    if "text/html" in headers.get("accept", "") and not is_part:
        told = f"{problem}. {problem.remedy}".strip()
        page = _PAGE.format(told=escape(f"{told[:1].upper()}{told[1:]}"))
        return HTMLResponse(page, problem.status, problem.headers | _PAGE_HEADERS)
    return JSONResponse(asdict(Problem(str(problem), path, problem.remedy)), problem.status, problem.headers)


async def _find_limit(scope: Scope, headers: Headers) -> tuple[int, str]:
    """Return how much is taken, in bytes, and whose large body it is, empty for a small one."""
    told = headers.get("content-length", "0")
    is_small = told.isascii() and told.isdecimal() and int(told) <= SMALL_BODY_BYTES
    path, method = scope["path"], scope["method"]
    is_upload = path == UPLOAD_PATH and method == "POST"
    if is_small and "transfer-encoding" not in headers and not is_upload:
        return SMALL_BODY_BYTES, ""
    sender = await _find_sender("" if is_upload else headers.get("authorization"), headers.get("cookie", ""))
    if sender:
        mark_member(scope)
        return (int(settings.LARGEST_FILE_BYTES) + _FORM_BYTES if is_upload else MOST_BODY_BYTES), sender
    if is_upload:
        page = find_referring_page(headers.get("referer", ""), headers.get("host", ""))
        way = f"/login?{urlencode({'next': page})}" if page else ""
        raise _BodyRefusedError(403, "log in before you send packages", way=way)
    if path == ENROL_PATH:
        return MOST_ENROL_BYTES, _STRANGERS
    if path.startswith("/api/"):
        raise _BodyRefusedError(
            401,
            "the coordinator does not know this key" if "authorization" in headers else "there is no key",
            "Send Authorization: Bearer KEY with a key that has not been revoked.",
            www_authenticate="Bearer",
        )
    return SMALL_BODY_BYTES, ""


@sync_to_async(thread_sensitive=False)
def _find_sender(authorization: str | None, cookies: str) -> str:
    """Return who sends a request: whose key or session it is, empty when it is nobody's."""
    close_old_connections()
    try:
        if authorization:
            scheme, _, key = authorization.partition(" ")
            owner = find_user_of_key(key) if scheme.lower() == "bearer" else None
            return f"user {owner.pk}" if owner is not None else ""
        found = SimpleCookie(cookies).get(settings.SESSION_COOKIE_NAME)
        if found is None:
            return ""
        request = HttpRequest()
        request.session = import_module(settings.SESSION_ENGINE).SessionStore(found.value)
        user = get_user(request)
        return f"user {user.pk}" if user.is_authenticated else ""
    except CookieError:
        return ""
    finally:
        close_old_connections()
