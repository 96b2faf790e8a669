"""The socket on which the coordinator listens: who is let in, and what becomes of those that dawdle."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
import time
from collections.abc import Callable
from functools import partial

from datamill.service.front_door.protocol import USUAL, GuardedProtocol
from datamill.service.front_door.visitors.addresses import name_origin
from datamill.service.front_door.visitors.visitors import Visitor, Visitors

log = logging.getLogger("datamill.door")

_BACKLOG = 1024
#: Connections that are taken before others have their turn. It takes four turns of the event loop until what
#: a new one says is read: in that time no more may come than have room, or they push each other out.
_MOST_AT_ONCE = 8
_LOOK_EVERY_S = 0.5
#: What the system says when it has no further open files or no memory for them.
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_EXHAUSTED_PAUSE_S = 0.2
_MADE_ROOM = 32


class Door:
    """Takes connections from a socket as long as there is room; uvicorn sees it as an `asyncio.Server`.

    Args:
        listening: the socket, bound.
        visitors: the register of connections.
        make_protocol: returns what speaks over a new one.
        tls: None for plain HTTP.
    """

    def __init__(
        self,
        listening: socket.socket,
        visitors: Visitors,
        make_protocol: Callable[[Visitor], GuardedProtocol],
        tls: ssl.SSLContext | None,
    ) -> None:
        self._listening = listening
        self._visitors = visitors
        self._make_protocol = make_protocol
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._protocols: dict[Visitor, GuardedProtocol] = {}
        self._arriving: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._told = (0, 0)
        self._is_open = True
        listening.listen(_BACKLOG)
        listening.setblocking(False)
        self._loop.add_reader(listening, self._take)
        self._looking = self._loop.create_task(self._look(), name="door")

    def close(self) -> None:
        """Take no further connections."""
        if not self._is_open:
            return
        self._is_open = False
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._listening)
        self._looking.cancel()
        for task in self._arriving:
            task.cancel()

    async def wait_closed(self) -> None:
        """Wait until nobody is on the way in any more."""
        with contextlib.suppress(asyncio.CancelledError):
            await self._looking
        await asyncio.gather(*self._arriving, return_exceptions=True)

    def _take(self) -> None:
        for _ in range(_MOST_AT_ONCE):
            try:
                client, address = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionError:
                continue
            except OSError as error:
                self._rest(error)
                return
            client.setblocking(False)
            visitor = self._visitors.admit(name_origin(str(address[0])))
            if visitor is None:
                client.close()
                continue
            task = self._loop.create_task(self._let_in(client, visitor))
            visitor.close = task.cancel  # type: ignore[assignment]
            self._arriving.add(task)
            task.add_done_callback(partial(self._forget, client))

    def _forget(self, client: socket.socket, task: asyncio.Task[None]) -> None:
        self._arriving.discard(task)
        if task.cancelled():
            # Before it began: nothing else closes it.
            client.close()

    def _rest(self, error: OSError) -> None:
        """Make room, and leave those that wait outside for a moment: asking again at once wins nothing."""
        if error.errno in _EXHAUSTED:
            count = self._visitors.evict_some(_MADE_ROOM)
            log.warning(
                "no connection can be taken: %s; %s that asked nothing were ended", error.strerror, count
            )
        else:
            log.error("no connection can be taken: %s", error)
        self._loop.remove_reader(self._listening)
        self._pause = self._loop.call_later(_EXHAUSTED_PAUSE_S, self._go_on)

    def _go_on(self) -> None:
        if self._is_open:
            self._loop.add_reader(self._listening, self._take)

    async def _let_in(self, client: socket.socket, visitor: Visitor) -> None:
        """Shake hands where TLS is spoken, and have the protocol go on."""
        timeout_s = self._visitors.bounds.handshake_s if self._tls is not None else None
        protocol = self._make_protocol(visitor)
        self._protocols[visitor] = protocol
        try:
            await self._loop.connect_accepted_socket(
                lambda: protocol, client, ssl=self._tls, ssl_handshake_timeout=timeout_s
            )
        except (OSError, asyncio.CancelledError):
            # It speaks no TLS, went away, took too long, or had to go.
            self._visitors.leave(visitor)
            client.close()

    async def _look(self) -> None:
        """Now and then end what takes too long, and say what there was of it."""
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            self._look_once(time.monotonic())

    def _look_once(self, now_s: float) -> None:
        for visitor, protocol in list(self._protocols.items()):
            if visitor.is_gone:
                del self._protocols[visitor]
            elif protocol.transport is not None and (fault := protocol.find_fault(now_s)):
                self._visitors.evict(visitor)
                if fault in USUAL:
                    continue
                log.info("a connection from %s was ended: %s took too long", visitor.origin, fault)
        # Who came and went since the last look counts too, so the numbers open now do not decide.
        told = (self._visitors.made_room, self._visitors.refused)
        if told != self._told:
            ended, refused = (new - old for new, old in zip(told, self._told, strict=True))
            self._told = told
            log.warning(
                "many connections: %s are open, %s were ended to make room and %s turned away",
                len(self._visitors),
                ended,
                refused,
            )
