"""uvicorn behind a door of our own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn

from datamill.service.front_door.door import Door
from datamill.service.front_door.protocol import GuardedProtocol
from datamill.service.front_door.visitors.bounds import DoorBounds
from datamill.service.front_door.visitors.visitors import Visitor, Visitors


class WebServer(uvicorn.Server):
    """A web server that leaves signals to us, and connections to the door.

    Args:
        config: of uvicorn.
        bounds: of connections.
    """

    def __init__(self, config: uvicorn.Config, bounds: DoorBounds) -> None:
        super().__init__(config)
        self.visitors = Visitors(bounds)
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on a socket that is bound."""
        await self.lifespan.startup()
        assert sockets is not None
        self.servers = [Door(taken, self.visitors, self._speak, self.config.ssl) for taken in sockets]  # type: ignore[misc]
        self.started = True
        self.listening.set()

    def _speak(self, visitor: Visitor) -> GuardedProtocol:
        return GuardedProtocol(self.visitors, visitor, self.config, self.server_state)
