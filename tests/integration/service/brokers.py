"""Brokers for tests: a real nats-server with the coordinator's configuration, and clients over the wire."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats.errors
import nkeys
import pytest
from integration.service import databases  # noqa: F401 - sets Django up
from nats.aio.client import Client
from running.free_ports import find_free_port

from datamill.experiment.errors import InputError
from datamill.service.broker.credentials import sign_coordinator, sign_worker
from datamill.service.broker.keys import Keys, make_seed, public_key, sign
from datamill.service.broker.server import BrokerServer, find_server
from datamill.service.broker.server_config import BrokerPlace, BrokerTls

#: How long anything may take that happens at once on a quiet machine.
MOST_S = 60.0


def skip_without_broker() -> None:
    """Skip a test, with the reason, where there is no nats-server."""
    try:
        find_server()
    except InputError as error:
        pytest.skip(f"no broker here: {error}")


def make_keys() -> Keys:
    return Keys(
        account_seed=make_seed(nkeys.PREFIX_BYTE_ACCOUNT),
        coordinator_seed=make_seed(nkeys.PREFIX_BYTE_USER),
        operator_seed=make_seed(nkeys.PREFIX_BYTE_OPERATOR),
        system_seed=make_seed(nkeys.PREFIX_BYTE_ACCOUNT),
    )


@dataclass
class WorkerIdentity:
    """A worker as the coordinator enrols one."""

    worker_id: str
    seed: str = field(default_factory=lambda: make_seed(nkeys.PREFIX_BYTE_USER))

    @property
    def key(self) -> str:
        return public_key(self.seed)

    def credential(self, keys: Keys) -> str:
        return sign_worker(keys, self.worker_id, self.key, time.time())


async def connect(
    url: str, jwt: str, seed: str, *, inbox: str = "_INBOX", tls: ssl.SSLContext | None = None, **options: Any
) -> tuple[Client, list[str]]:
    """Connect with a credential; return the client and the list of what the server complains about."""
    complaints: list[str] = []

    async def complain(error: Exception) -> None:
        complaints.append(str(error))

    client = Client()
    await client.connect(
        servers=url.split(","),
        user_jwt_cb=lambda: jwt.encode(),
        signature_cb=lambda nonce: base64.b64encode(sign(seed, nonce.encode())),
        inbox_prefix=inbox,
        error_cb=complain,
        connect_timeout=30,
        tls=tls,
        **{"allow_reconnect": False, **options},
    )
    return client, complaints


async def connect_worker(
    url: str, keys: Keys, worker: WorkerIdentity, **options: Any
) -> tuple[Client, list[str]]:
    return await connect(url, worker.credential(keys), worker.seed, **options)


async def connect_patiently(url: str, keys: Keys, worker: WorkerIdentity) -> tuple[Client, list[str]]:
    """Connect a worker to a broker that is about to answer."""
    deadline = time.monotonic() + MOST_S
    while True:
        try:
            return await connect_worker(url, keys, worker)
        except (nats.errors.Error, OSError):
            assert time.monotonic() < deadline, "the broker does not answer"
            await asyncio.sleep(0.05)


async def connect_coordinator(url: str, keys: Keys, **options: Any) -> tuple[Client, list[str]]:
    return await connect(url, sign_coordinator(keys, time.time()), keys.coordinator_seed, **options)


@contextlib.asynccontextmanager
async def running_broker(
    folder: Path,
    keys: Keys,
    list_revoked: Callable[[], Mapping[str, float]] = dict,
    tls: BrokerTls | None = None,
) -> AsyncIterator[tuple[BrokerServer, str]]:
    """A nats-server of ours, ended at the end; with its address."""
    skip_without_broker()
    place = BrokerPlace(folder, "127.0.0.1", find_free_port(), tls)
    server = BrokerServer(place, keys, list_revoked)
    await server.start()
    try:
        yield server, place.url_for_workers.format(host="127.0.0.1")
    finally:
        await server.stop()


async def eventually(check: Callable[[], Any], seconds: float = MOST_S) -> Any:
    """Wait until a check holds and return what it returns."""
    deadline = time.monotonic() + seconds
    while True:
        told = check()
        if told:
            return told
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)
