"""How many requests are answered at a time: each takes a thread, a connection to the database and memory."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from datamill.service.front_door.visitors.addresses import name_origin
from datamill.service.front_door.visitors.bounds import DoorBounds

MOST_AT_ONCE = 32
MOST_OF_ORIGIN = 8
#: This machine's users, or those of a proxy, are different people.
MOST_OF_NEAR = 24


class VisitorTurns:
    """An ASGI application before another that answers few requests at a time, in the order of their coming.

    A request takes its turn when all of its body is here, so that nobody holds one by sending slowly, and
    gives it back when the answer begins, so that nobody holds one by reading slowly.

    Args:
        application: what answers.
        bounds: says which origins are near.
    """

    def __init__(self, application: ASGIApp, bounds: DoorBounds) -> None:
        self._application = application
        self._bounds = bounds
        self._turns = asyncio.Semaphore(MOST_AT_ONCE)
        self._by_origin: dict[str, tuple[asyncio.Semaphore, list[int]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        turn = _Turn(self, name_origin(str((scope.get("client") or ("",))[0])))
        visitor = scope.get("state", {}).get("visitor")

        async def receive_all() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                await turn.take()
                if visitor is not None and visitor.is_gone:
                    turn.give_back()
                    return {"type": "http.disconnect"}
            return message

        async def send_on(message: Message) -> None:
            turn.give_back()
            await send(message)

        try:
            await self._application(scope, receive_all, send_on)
        finally:
            turn.give_back()

    async def take(self, origin: str) -> None:
        """Wait for a turn: first among those of the same origin, then among all."""
        most = MOST_OF_NEAR if self._bounds.is_near(origin) else MOST_OF_ORIGIN
        own, count = self._by_origin.setdefault(origin, (asyncio.Semaphore(most), [0]))
        count[0] += 1
        try:
            await own.acquire()
            try:
                await self._turns.acquire()
            except BaseException:
                own.release()
                raise
        except BaseException:
            self._leave(origin)
            raise

    def give_back(self, origin: str) -> None:
        """Let the next one have the turn."""
        self._turns.release()
        self._by_origin[origin][0].release()
        self._leave(origin)

    def _leave(self, origin: str) -> None:
        count = self._by_origin[origin][1]
        count[0] -= 1
        if not count[0]:
            del self._by_origin[origin]


class _Turn:
    """The turn of one request, taken and given back once."""

    def __init__(self, turns: VisitorTurns, origin: str) -> None:
        self._turns = turns
        self._origin = origin
        self._was_taken = False
        self._is_held = False

    async def take(self) -> None:
        if self._was_taken:
            return
        self._was_taken = True
        await self._turns.take(self._origin)
        self._is_held = True

    def give_back(self) -> None:
        if self._is_held:
            self._is_held = False
            self._turns.give_back(self._origin)
