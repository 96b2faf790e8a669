"""What strangers do at the coordinator's door, over the real wire, and how others fare meanwhile."""

from __future__ import annotations

import contextlib
import http.client
import os
import resource
import select
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integration.service.brokers import skip_without_broker
from integration.service.databases import put_tables
from integration.service.played_fleet import Coordinator

#: As most systems give their processes: soft and hard bound of open files.
FEW_FILES = (1024, 4096)
#: How long others may wait for a page on a machine that is busy; benches measure how long they do wait.
PATIENCE_S = 20.0


@dataclass
class DoorCoordinator(Coordinator):
    """A coordinator with as many open files as most systems give; further surroundings in `environment`."""

    files: tuple[int, int] = FEW_FILES
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def log_file(self) -> Path:
        return self.data.parent / "serve.log"

    def start(self) -> None:
        """Start it; its words go to `data/../serve.log`."""
        skip_without_broker()
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (self.data / "coordinator.sqlite3").exists():
            # To make them takes longer than all else that it does before it serves.
            put_tables(self.data / "coordinator.sqlite3")
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "datamill.service", "--data", str(self.data), "--listen",
                 f"127.0.0.1:{self.port}", *self.options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "XDG_CONFIG_HOME": str(self.data.parent / "config"), **self.environment},
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, self.files),
            )  # fmt: skip

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill(signal.SIGTERM)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def count_files(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))


@contextlib.contextmanager
def serving(data: Path, **surroundings: Any) -> Iterator[DoorCoordinator]:
    """A coordinator that is well, and ended at the end."""
    served = DoorCoordinator(data, **surroundings)
    served.start()
    try:
        served.wait_until_well()
        yield served
    finally:
        served.stop()


def ask(port: int, path: str = "/login", timeout_s: float = 30.0, **headers: str) -> tuple[int, bytes]:
    """Ask for a page over a connection of its own; return status and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def time_pages(port: int, count: int = 15, path: str = "/login") -> list[float]:
    """Ask for a page again and again, each time over a new connection; return how long each took, in s."""
    took = []
    for _ in range(count):
        began_s = time.monotonic()
        status, _ = ask(port, path)
        assert status == 200, status
        took.append(time.monotonic() - began_s)
        time.sleep(0.02)
    return took


def median_s(times: list[float]) -> float:
    return statistics.median(times)


def speak(port: int, said: bytes, timeout_s: float = 10.0) -> bytes:
    """Say something over a new connection and return all that comes until the other side ends it."""
    with socket.create_connection(("127.0.0.1", port), timeout_s) as client:
        with contextlib.suppress(ConnectionError):
            client.sendall(said)
        return hear(client, timeout_s)


def hear(client: socket.socket, timeout_s: float) -> bytes:
    """Return what comes until the other side ends the connection, or falls silent for so long."""
    client.settimeout(timeout_s)
    told = bytearray()
    with contextlib.suppress(TimeoutError, ConnectionError):
        while piece := client.recv(65536):
            told += piece
    return bytes(told)


def is_open(client: socket.socket) -> bool:
    """Tell whether the other side still holds a connection; nothing is read."""
    looking = select.poll()
    looking.register(client, select.POLLRDHUP)
    return not looking.poll(0)


@contextlib.contextmanager
def holding(port: int, count: int, said: bytes, source: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """Hold connections over which something unfinished was said, and open again those that are closed."""
    held: list[socket.socket] = []
    ended = threading.Event()

    def keep_on() -> None:
        while not ended.wait(0.2):
            for place, client in enumerate(held):
                if ended.is_set() or is_open(client):
                    continue
                client.close()
                held[place] = _begin(port, said, source)

    for _ in range(count):
        held.append(_begin(port, said, source))
    keeper = threading.Thread(target=keep_on, daemon=True)
    keeper.start()
    try:
        yield held
    finally:
        ended.set()
        keeper.join()
        for client in held:
            client.close()


def _begin(port: int, said: bytes, source: str) -> socket.socket:
    client = socket.socket()
    client.bind((source, 0))
    client.settimeout(5)
    with contextlib.suppress(OSError):
        client.connect(("127.0.0.1", port))
        client.sendall(said)
    return client


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait until something holds; fail when it does not within so long."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
