"""Requests answered by threads that stay, each with its connection to the database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import django
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.db import connection
from django.http import HttpRequest


def make_application() -> KeptThreads:
    """Return what answers requests by Django's views; call it once Django has its settings."""
    django.setup(set_prefix=False)
    return KeptThreads()


_Receive = Callable[[], Awaitable[Mapping[str, Any]]]
_Send = Callable[[Mapping[str, Any]], Awaitable[None]]

#: Threads that stay without work; those of many streams end with these.
MOST_IDLE = 8


class KeptThreads(ASGIHandler):
    """Django's ASGI application, where a request is answered by one call in a thread of few.

    Django's own makes a thread and a connection to the database for each request, and hands each step of
    each middleware to that thread by itself: twice the processor time, and as many waits for the
    interpreter where something else keeps it busy. All views and middleware here are synchronous.
    """

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        # The one that was used last comes first, so that few connections are open.
        self._idle: list[ThreadPoolExecutor] = []

    async def __call__(self, scope: dict[str, Any], receive: _Receive, send: _Send) -> None:
        """Answer one request."""
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, thread_name_prefix="request")
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self.handle(scope, receive, send)
        finally:
            self._give_back(thread)

    async def get_response_async(self, request: HttpRequest) -> Any:
        """Answer a request by the thread that is its own for now."""
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)

    def _give_back(self, thread: ThreadPoolExecutor) -> None:
        # Whatever the client did, what its request asked of the thread last has been waited for.
        if len(self._idle) < MOST_IDLE:
            self._idle.append(thread)
        else:
            thread.submit(connection.close)
            thread.shutdown(wait=False)
