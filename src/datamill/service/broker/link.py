"""The coordinator's connection to the broker: reports come in, orders go out."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.errors import Error as JetStreamError

from datamill.service.broker.credentials import sign_coordinator
from datamill.service.broker.keys import Keys, sign
from datamill.service.broker.streams import (
    DELIVERY_SUBJECT,
    MOST_RESULTS_BYTES,
    ensure_consumer,
    ensure_streams,
    make_room,
)
from datamill.service.coordinator.ingest import ReceivedReport
from datamill.service.coordinator.orders import UnsentOrders
from datamill.service.messages import jobs_subject

log = logging.getLogger("datamill.broker")

_PUBLISH_S = 10.0
_CLOSE_S = 5.0
_RECONNECT_S = 0.25
#: Status messages that may be lost are lost beyond this many that wait.
_MOST_STATUS = 10_000


@dataclass(frozen=True)
class BrokerAddress:
    """Where the coordinator itself reaches the broker, and as whom; `is_own` is the one that it starts."""

    urls: tuple[str, ...]
    keys: Keys
    replicas: int = 1
    tls: ssl.SSLContext | None = None
    is_own: bool = False
    most_results_bytes: int = MOST_RESULTS_BYTES


@dataclass(frozen=True)
class Arrival:
    """A report, and where its receipt goes; a status message has none."""

    report: ReceivedReport
    reply: str
    connection: int


class BrokerLink:
    """One connection, kept up; says through `wake` that something came or changed.

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
        self._arrivals: deque[Arrival] = deque()
        self._waiting: set[int] = set()
        self._refused: set[int] = set()
        self._all_acknowledged = asyncio.Event()
        self._inbox = ""
        #: Counts connections; what came over an earlier one is not acknowledged over a later one.
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
        """Connect once.

        Raises:
            OSError, nats.errors.Error: when there is no broker or it refuses us.
        """
        await self.close()
        keys = self._address.keys
        jwt = sign_coordinator(keys, self._now_s()).encode()
        client = Client()
        self._client = client
        await client.connect(
            servers=list(self._address.urls),
            name="coordinator",
            user_jwt_cb=lambda: jwt,
            signature_cb=lambda nonce: _encode_signature(sign(keys.coordinator_seed, nonce.encode())),
            tls=self._address.tls,
            connect_timeout=5,
            reconnect_time_wait=_RECONNECT_S,  # type: ignore[arg-type]
            max_reconnect_attempts=-1,
            ping_interval=20,
            pending_size=64 << 20,
            error_cb=self._on_error,
            disconnected_cb=self._on_change,
            reconnected_cb=self._on_reconnect,
            closed_cb=self._on_change,
        )
        self._inbox = client.new_inbox()
        await client.subscribe(f"{self._inbox}.*", cb=self._on_acknowledged)
        await client.subscribe("status.*", cb=self._on_status)
        await client.subscribe(DELIVERY_SUBJECT, cb=self._on_report)
        self.connection += 1

    async def prepare(self) -> int:
        """Make sure of streams and consumer; reports flow from here on.

        Returns:
            How many workers the broker has orders of.

        Raises:
            OSError, nats.errors.Error: when the broker does not answer or cannot.
        """
        assert self._client is not None
        connection = self.connection
        jetstream = self._client.jetstream(timeout=10)
        address = self._address
        found = await ensure_streams(
            jetstream, address.replicas, is_own=address.is_own, most_bytes=address.most_results_bytes
        )
        await ensure_consumer(jetstream)
        if connection == self.connection and self.connected:
            self.prepared, self.trouble = True, ""
        return found

    async def make_room(self) -> None:
        """Have the broker forget reports that were acknowledged, where it has many.

        Raises:
            OSError, nats.errors.Error: when the broker does not answer or cannot.
        """
        assert self._client is not None
        if forgotten := await make_room(self._client.jetstream(timeout=10)):
            log.info("the broker forgot %s reports that are in the database", forgotten)

    @property
    def closed(self) -> bool:
        """Tell whether the connection is gone for good, and another must be made."""
        return self._client is None or self._client.is_closed

    def take(self, most: int) -> list[Arrival]:
        """Take reports that came, the oldest first."""
        arrivals = self._arrivals
        return [arrivals.popleft() for _ in range(min(most, len(arrivals)))]

    async def acknowledge(self, arrivals: Sequence[Arrival]) -> None:
        """Tell the broker which reports are in the database."""
        client = self._client
        if client is None:
            return
        with contextlib.suppress(OSError, TimeoutError, nats.errors.Error):
            async with asyncio.timeout(_PUBLISH_S):
                for arrival in arrivals:
                    if arrival.reply and arrival.connection == self.connection:
                        await client.publish(arrival.reply, b"+ACK")

    async def publish(self, orders: Sequence[UnsentOrders]) -> list[UnsentOrders]:
        """Publish orders all at once and return those that the broker has on its disk."""
        client = self._client
        if client is None or not client.is_connected or not orders:
            return []
        numbers: dict[int, UnsentOrders] = dict(enumerate(orders))
        self._waiting, self._refused = set(numbers), set()
        self._all_acknowledged.clear()
        try:
            async with asyncio.timeout(_PUBLISH_S):
                for number, order in numbers.items():
                    await client.publish(
                        jobs_subject(order.worker_id),
                        order.payload,
                        reply=f"{self._inbox}.{number}",
                        headers={"Nats-Msg-Id": f"{order.worker_id}.{order.sequence}"},
                    )
                await self._all_acknowledged.wait()
        except (OSError, TimeoutError, nats.errors.Error) as error:
            log.warning("orders may not have been published: %r", error)
        missing = self._waiting | self._refused
        if missing:
            log.warning("the broker did not acknowledge %s of %s orders", len(missing), len(orders))
        sent = [order for number, order in numbers.items() if number not in missing]
        self._waiting = set()
        return sent

    async def close(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        self.prepared = False
        if client is not None and not client.is_closed:
            with contextlib.suppress(OSError, nats.errors.Error, TimeoutError):
                await asyncio.wait_for(client.close(), _CLOSE_S)

    async def _on_report(self, message: Msg) -> None:
        self._arrivals.append(_read_arrival(message, message.reply, self.connection))
        self._wake()

    async def _on_status(self, message: Msg) -> None:
        if len(self._arrivals) < _MOST_STATUS:
            self._arrivals.append(_read_arrival(message, "", self.connection))
            self._wake()

    async def _on_acknowledged(self, message: Msg) -> None:
        number = int(message.subject.rpartition(".")[2])
        # Without data: no server leads the stream just now.
        if number in self._waiting and (not message.data or b'"error"' in message.data):
            self._refused.add(number)
            self.trouble = message.data.decode(errors="replace") or "no server leads the stream of orders"
        self._waiting.discard(number)
        if not self._waiting:
            self._all_acknowledged.set()

    async def _on_reconnect(self) -> None:
        self.connection += 1
        await self._on_change()

    async def _on_change(self) -> None:
        self.prepared = False
        # Whoever waits for what was published waits in vain.
        self._all_acknowledged.set()
        self.trouble = self.trouble or "the broker does not answer"
        self._wake()

    async def _on_error(self, error: Exception) -> None:
        self.trouble = str(error) or repr(error)
        log.debug("broker: %r", error)


#: What connecting and preparing can fail with while the broker is not well.
BROKER_ERRORS = (OSError, nats.errors.Error, JetStreamError, TimeoutError)


def _read_arrival(message: Msg, reply: str, connection: int) -> Arrival:
    worker_id = message.subject.partition(".")[2]
    return Arrival(ReceivedReport(worker_id, message.data), reply, connection)


def _encode_signature(signature: bytes) -> bytes:
    return base64.b64encode(signature)
