"""How much of a request's body is taken: Django takes all of it before it asks who sends it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.db import close_old_connections
from django.http import HttpRequest
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from datamill.experiment.quantities import format_size
from datamill.service.front_door.visitors import mark_member

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Of everything but packages that come through the browser.
MOST_BODY_BYTES = 4 << 20
UPLOAD_PATH = "/experiments/new/upload"
#: What a form has around the files in it.
_FORM_BYTES = 1 << 20
#: A sender that is silent for so long is gone.
_IDLE_S = 60.0


class _BodyRefusedError(Exception):
    """A body is too long, or does not come; `status` is the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class LimitedBodies:
    """An ASGI application before Django that refuses bodies which are too long, as they say or as they come.

    Large ones are taken from whoever is logged in, alone: they lie on the disk before any page is asked.
    """

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = Headers(scope=scope)
        try:
            most = await _find_limit(scope, headers)
            told = headers.get("content-length", "0")
            if told.isascii() and told.isdecimal() and int(told) > most:
                raise _BodyRefusedError(413, f"the request has more than {format_size(most)}")
            await self._application(scope, _LimitedReceive(receive, most), send)
        except _BodyRefusedError as problem:
            body = {"message": str(problem), "where": str(scope["path"]), "remedy": ""}
            # What is still to come is not read.
            answer = JSONResponse(body, problem.status, {"connection": "close"})
            await answer(scope, receive, send)


class _LimitedReceive:
    """Receives a body up to a limit."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._left = self._most = most
        self._ended = False

    async def __call__(self) -> MutableMapping[str, Any]:
        """Return the next message."""
        if self._ended:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), _IDLE_S)
        except TimeoutError:
            raise _BodyRefusedError(408, f"nothing came for {_IDLE_S:g} s") from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self._ended = not message.get("more_body", False)
            if self._left < 0:
                raise _BodyRefusedError(413, f"the request has more than {format_size(self._most)}")
        return message


async def _find_limit(scope: Scope, headers: Headers) -> int:
    if scope["path"] != UPLOAD_PATH or scope["method"] != "POST":
        return MOST_BODY_BYTES
    if not await _is_member(headers.get("cookie", "")):
        raise _BodyRefusedError(403, "log in before you send packages")
    mark_member(scope)
    return int(settings.LARGEST_FILE_BYTES) + _FORM_BYTES


@sync_to_async(thread_sensitive=False)
def _is_member(cookies: str) -> bool:
    """Tell whether a browser's cookies are those of somebody who is logged in."""
    try:
        found = SimpleCookie(cookies).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return False
    if found is None:
        return False
    request = HttpRequest()
    close_old_connections()
    try:
        request.session = import_module(settings.SESSION_ENGINE).SessionStore(found.value)
        return bool(get_user(request).is_authenticated)
    finally:
        close_old_connections()
