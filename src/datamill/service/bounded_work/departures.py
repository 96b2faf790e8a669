"""Whether the client of a request still waits for its answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Departure:
    """Tells whether a client has left; set in the event loop, read in the thread that works for it."""

    def __init__(self) -> None:
        self._left = threading.Event()

    def note(self) -> None:
        """Say that it has left."""
        self._left.set()

    @property
    def has_left(self) -> bool:
        """Whether it has left."""
        return self._left.is_set()


_current: ContextVar[Departure | None] = ContextVar("departure", default=None)


@contextmanager
def working_for(departure: Departure) -> Iterator[None]:
    """Let what is worked on here, and in threads that this context goes to, end when somebody has left."""
    token = _current.set(departure)
    try:
        yield
    finally:
        _current.reset(token)


def find_departure() -> Departure:
    """Return that of the request that is being answered; elsewhere one that never comes."""
    return _current.get() or Departure()


class WatchedClients:
    """An ASGI application whose requests know when their clients leave.

    Django asks for what else comes while a view works, and stops waiting for the view when the client is
    gone; the view's thread goes on, and has to be told.
    """

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        departure = Departure()

        async def listen() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                departure.note()
            return message

        token = _current.set(departure)
        try:
            await self._application(scope, listen, send)
        finally:
            _current.reset(token)
