"""The coordinator's connection to the broker: reports come in, orders go out, and nothing is answered.

Nothing that a worker says makes the coordinator or the broker publish on a subject that the worker named: the
reply subjects of its messages are not looked at, nor are their headers.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from datamill.protocol.fleet import jobs_subject
from datamill.service.broker.arrivals import Arrivals
from datamill.service.broker.connections import find_crowds
from datamill.service.broker.credentials import sign_coordinator
from datamill.service.broker.keys import Keys, sign
from datamill.service.broker.streams import find_streams
from datamill.service.coordinator.messages.orders import UnsentOrders

log = logging.getLogger("datamill.broker")

T = TypeVar("T")
#: Longest time to connect to one server, and to wait for an answer of the broker, in seconds.
_CONNECT_S = 2.0
_ANSWER_S = 2.0
#: Longest time to publish one batch of orders.
_PUBLISH_S = 5.0
_CLOSE_S = 2.0
#: Longest time to ask for all connections, in seconds.
_CROWDS_S = 10.0
#: What may wait in the client itself, in bytes: it is moved on at once.
_CLIENT_PENDING_BYTES = 64 << 20


@dataclass(frozen=True)
class BrokerAddress:
    """Where the coordinator itself reaches the broker, and as whom; `is_own` is the one that it starts."""

    urls: tuple[str, ...]
    keys: Keys
    tls: ssl.SSLContext | None = None
    is_own: bool = False


class LineLostError(nats.errors.Error):
    """The connection ended while something was waited for."""

    def __str__(self) -> str:
        """Say so."""
        return "the connection to the broker was lost"


class CapturedError(nats.errors.Error):
    """A stream of the broker keeps the fleet's messages."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._names = names

    def __str__(self) -> str:
        """Say which, and what to do."""
        return (
            f"the streams {', '.join(self._names)} keep messages of the fleet, and answer whom workers name: "
            "delete them, or give the fleet its own account"
        )


class _Client(Client):
    """A client that heeds no headers: one that is no header would end its reading."""

    async def _process_headers(self, _headers: bytes) -> None:
        return None


class BrokerLink:
    """One connection, made anew whenever it ends; says through `wake` that something came or changed.

    Args:
        address: where the broker is.
        wake: called in the event loop.
        now_s: the clock, seconds since the Unix epoch.
    """

    def __init__(self, address: BrokerAddress, wake: Callable[[], None], now_s: Callable[[], float]) -> None:
        self._address = address
        self._wake = wake
        self._now_s = now_s
        self._client: Client | None = None
        self._arrivals = Arrivals()
        self._lost = asyncio.Event()
        self._next_url = 0
        #: Counts connections; what was published over an earlier one may be gone.
        self.connection = 0
        self.prepared = False
        self.trouble = "not connected yet"

    @property
    def connected(self) -> bool:
        """Tell whether the broker can be spoken to now."""
        return self._client is not None and self._client.is_connected

    @property
    def waiting(self) -> int:
        """Number of reports that came and were not taken."""
        return len(self._arrivals)

    async def connect(self) -> None:
        """Connect once, to whichever server answers first.

        Raises:
            OSError, nats.errors.Error: when there is no broker or it refuses us.
        """
        await self.close()
        urls = self._address.urls
        for attempt in range(len(urls)):
            url = urls[(self._next_url + attempt) % len(urls)]
            try:
                self._lost = asyncio.Event()
                await self._connect_to(url)
                return
            except (OSError, TimeoutError, nats.errors.Error) as error:
                await self.close()
                # The one that did not answer is asked last the next time.
                if attempt + 1 == len(urls):
                    self._next_url = (self._next_url + 1) % len(urls)
                    self.trouble = str(error) or self.trouble or repr(error)
                    raise

    async def _connect_to(self, url: str) -> None:
        keys = self._address.keys
        jwt = sign_coordinator(keys, self._now_s()).encode()
        client = _Client()
        self._client = client
        lost = self._lost

        async def end() -> None:
            lost.set()
            if client is self._client:
                self._on_end()

        await asyncio.wait_for(
            client.connect(
                servers=[url],
                name="coordinator",
                user_jwt_cb=lambda: jwt,
                signature_cb=lambda nonce: _encode_signature(sign(keys.coordinator_seed, nonce.encode())),
                tls=self._address.tls,
                connect_timeout=2,
                # We connect anew ourselves: a client that does so by itself may wait for what never comes.
                allow_reconnect=False,
                max_reconnect_attempts=1,
                ping_interval=20,
                pending_size=64 << 20,
                error_cb=self._on_error,
                disconnected_cb=end,
                closed_cb=end,
            ),
            2 * _CONNECT_S,
        )
        for subject in ("results.*", "status.*"):
            await client.subscribe(
                subject, cb=self._on_report, pending_msgs_limit=0, pending_bytes_limit=_CLIENT_PENDING_BYTES
            )
        self.connection += 1

    async def prepare(self) -> None:
        """Make sure that the broker carries messages and nothing keeps them; orders go out from here on.

        Raises:
            OSError, nats.errors.Error: when the broker does not answer, or a stream keeps what passes.
        """
        connection = self.connection
        await self.check()
        if connection == self.connection and self.connected:
            self.prepared, self.trouble = True, ""

    async def check(self) -> None:
        """Look whether the broker answers and no stream keeps the fleet's messages.

        Raises:
            OSError, nats.errors.Error: when it does not answer, or one does.
        """
        assert self._client is not None
        client = self._client
        try:
            await self._while_connected(client.flush(timeout=2), 2 * _ANSWER_S)
            if names := await self._while_connected(find_streams(client, _ANSWER_S), 4 * _ANSWER_S):
                raise CapturedError(names)
        except Exception:
            self.prepared = False
            raise

    async def find_crowds(self) -> dict[str, int]:
        """Return public keys with more connections than a worker needs, of those that the broker lists."""
        client = self._client
        if client is None or not client.is_connected:
            return {}
        try:
            return await self._while_connected(find_crowds(client, _ANSWER_S), _CROWDS_S)
        except (OSError, TimeoutError, ValueError, nats.errors.Error) as error:
            log.debug("the broker does not tell who is connected: %r", error)
            return {}

    def take(self, most: int) -> list[Any]:
        """Take reports that came, the oldest first."""
        return self._arrivals.take(most)

    def take_dropped(self) -> dict[str, int]:
        """Return how many reports of which workers there was no room for, since this was last asked."""
        return dict(self._arrivals.take_dropped())

    async def publish(self, orders: Sequence[UnsentOrders]) -> list[UnsentOrders]:
        """Publish orders all at once and return those that the broker has passed on, or had nobody for."""
        client = self._client
        if client is None or not client.is_connected or not orders:
            return []

        async def publish_all() -> None:
            for order in orders:
                await client.publish(jobs_subject(order.worker_id), order.payload)
            await client.flush(timeout=int(_PUBLISH_S))

        try:
            await self._while_connected(publish_all(), 2 * _PUBLISH_S)
        except (OSError, TimeoutError, nats.errors.Error) as error:
            log.warning("%s orders may not have been published: %s", len(orders), str(error) or repr(error))
            return []
        return list(orders)

    async def close(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        self.prepared = False
        if client is not None and not client.is_closed:
            with contextlib.suppress(OSError, nats.errors.Error, TimeoutError):
                await asyncio.wait_for(client.close(), _CLOSE_S)

    async def _while_connected(self, work: Awaitable[T], seconds: float) -> T:
        """Wait for something as long as the connection stands: a client waits its whole time otherwise."""
        task = asyncio.ensure_future(work)
        lost = asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait({task, lost}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if lost.done():
                raise LineLostError
            raise TimeoutError("the broker does not answer")
        finally:
            lost.cancel()
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task

    async def _on_report(self, message: Msg) -> None:
        self._arrivals.add(message.subject.partition(".")[2], message.data)
        self._wake()

    def _on_end(self) -> None:
        self.prepared = False
        self.trouble = self.trouble or "the connection to the broker was lost"
        self._wake()

    async def _on_error(self, error: Exception) -> None:
        self.trouble = str(error) or repr(error)
        log.debug("broker: %r", error)


#: What connecting, preparing and checking can fail with while the broker is not well.
BROKER_ERRORS = (OSError, nats.errors.Error, TimeoutError)


def _encode_signature(signature: bytes) -> bytes:
    return base64.b64encode(signature)
