"""A stranger at the broker's port: who does not say who he is has seconds, and keeps no worker out."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.hostile.door.strangers import (
    PATIENCE_S,
    DoorCoordinator,
    hear,
    holding,
    is_open,
    serving,
    wait_until,
)
from integration.service.brokers import WorkerIdentity, connect_worker

MANY = 1100
CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"jwt":"x","sig":"y","nkey":"z"}\r\nPING\r\n'
SAID = {
    "nothing": b"",
    "half a command": b'CONNECT {"verbose"',
    "a forged credential": CONNECT,
    "commands without a credential": b"SUB > 1\r\nPUB results.w 3\r\nabc\r\nPING\r\n",
    "what is no command": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "a long line": b"CONNECT {" + b"a" * 100_000,
}


@pytest.fixture(scope="module")
def coordinator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoorCoordinator]:
    with serving(tmp_path_factory.mktemp("broker") / "data") as served:
        yield served


def broker_port(coordinator: DoorCoordinator) -> int:
    return int((coordinator.data / "nats-port").read_text())


async def serve_worker(coordinator: DoorCoordinator) -> float:
    """Connect as a worker and ask something; return how long it took, in s."""
    began_s = time.monotonic()
    client, _ = await connect_worker(coordinator.broker_url, coordinator.keys(), WorkerIdentity("wone"))
    await client.flush(timeout=60)
    await client.close()
    return time.monotonic() - began_s


@pytest.mark.parametrize("name", SAID)
def test_workers_are_served_while_a_stranger_holds_many_connections(
    coordinator: DoorCoordinator, name: str
) -> None:
    # What is refused at once comes again and again.
    count = MANY if name in ("nothing", "half a command") else 50
    with holding(broker_port(coordinator), count, SAID[name]):
        for _ in range(3):
            assert asyncio.run(serve_worker(coordinator)) < PATIENCE_S
        assert coordinator.is_well()
    broker = Path(f"/proc/{coordinator.broker_pid}/fd")
    wait_until(lambda: len(list(broker.iterdir())) < 200, 120, "connections stay open")
    assert sum(file.stat().st_size for file in (coordinator.data / "nats").glob("server.log*")) < 40 << 20


def test_who_does_not_say_who_he_is_is_sent_away(coordinator: DoorCoordinator) -> None:
    with socket.create_connection(("127.0.0.1", broker_port(coordinator))) as client:
        wait_until(lambda: not is_open(client), 60, "it is still open")
        told = hear(client, 5)
    assert b"Authentication Timeout" in told


def test_more_connections_than_the_broker_takes_leave_it_files_for_its_store(tmp_path: Path) -> None:
    served = DoorCoordinator(tmp_path / "data", files=(256, 512))
    served.start()
    try:
        served.wait_until_well()
        with holding(broker_port(served), 400, b""):
            time.sleep(1)
            # It has 512 files, and takes 256 connections.
            assert len(list(Path(f"/proc/{served.broker_pid}/fd").iterdir())) < 400
            assert served.is_well()
        wait_until(lambda: _is_served(served), 30, "workers are kept out")
        assert served.kill(signal.SIGTERM) == 0
    finally:
        served.stop()


def _is_served(coordinator: DoorCoordinator) -> bool:
    try:
        asyncio.run(serve_worker(coordinator))
    except Exception:
        return False
    return True
