"""A coordinator in a process of its own, and workers that this process plays over the real wire."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import nats.errors
from django.contrib.auth.models import User
from django.db import connections
from integration.service.brokers import WorkerIdentity, connect_worker, skip_without_broker
from integration.service.databases import use_database
from nats.aio.client import Client
from nats.aio.msg import Msg
from running.free_ports import find_free_port
from simulation.machines.made_records import (
    OPTIMIZATIONS,
    encode_content,
    encode_record,
    encode_report,
    make_host,
    make_inventory,
    make_lease_record,
)

from datamill.design.design import Design, DesignFactor, PlannedTrial
from datamill.design.fleet.fleet_records import Candidate, FleetPlan
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.fleet import EnrolmentRequest, Lease, Orders, Policy
from datamill.protocol.trial import WorkerFacts
from datamill.results.bundles.bundle_head import BUNDLE_FORMAT, BundleHead, BundlePackage
from datamill.service.broker.keys import Keys
from datamill.service.coordinator.experiments.submission import NewExperiment, create_experiment
from datamill.service.coordinator.joining.enrolment import enrol_worker, make_token
from datamill.service.models import FleetWorker

PACKAGE = "ab" * 32


def enrol(names: Sequence[str]) -> list[WorkerIdentity]:
    """Enter workers into the database as if they had joined."""
    owner, _ = User.objects.get_or_create(username="ada")
    identities = []
    for name in names:
        identity = WorkerIdentity("")
        inventory = make_inventory(name, make_host("x86_64", "A", 2, "boot"), time.time_ns())
        token = make_token(owner, time.time(), 1000)
        request = EnrolmentRequest(token, name, identity.key, inventory, Policy())
        identity.worker_id = enrol_worker(request, time.time()).worker_id
        identities.append(identity)
    return identities


def submit(trials: int, *, attempts: int = 6) -> int:
    """Enter an experiment over all workers into the database."""
    workers = list(FleetWorker.objects.order_by("name"))
    chosen = tuple(
        Candidate(worker.worker_id, worker.name, worker.hardware, {}, 8 << 30, 2) for worker in workers
    )
    names = tuple(candidate.name for candidate in chosen)
    text = (
        f'[experiment]\nname = "played"\nreplicates = {-(-trials // (2 * len(names)))}\nseed = 1\n'
        '[[package]]\nname = "sort"\npath = "sort"\n[factors]\noptimization = ["-O0", "-O2"]\n'
        '[responses.score]\nunit = "1"\nformula = "score"\ndirection = "higher"\n'
        f'[fleet]\nreboot = "never"\ndebug = "never"\nmost_attempts = {attempts}\n'
    )
    experiment = parse_experiment(text, name="experiment.toml")
    factors = (
        DesignFactor("package", ("sort",), 1, True),
        DesignFactor("optimization", OPTIMIZATIONS, 2, True),
        DesignFactor("machine", names, len(names), False, "factor" if len(names) > 1 else "nuisance"),
    )
    planned = []
    for order in range(1, trials + 1):
        machine = names[order % len(names)]
        levels = {
            "package": "sort",
            "optimization": OPTIMIZATIONS[order // len(names) % 2],
            "machine": machine,
        }
        planned.append(PlannedTrial(f"t{order:06d}", order, 1, order, "sort", levels, machine, seed=order))
    head = BundleHead(
        format=BUNDLE_FORMAT,
        datamill="0.1.0",
        created_unix_ns=0,
        experiment_file="experiment.toml",
        packages=(BundlePackage("sort", "packages/sort.tar.gz", PACKAGE, 10, 3, False),),
    )
    plan = FleetPlan(Design("full", 1, 1, factors, tuple(planned)), chosen, (), (), {})
    owner = User.objects.get(username="ada")
    return create_experiment(NewExperiment(owner, text, experiment, head, plan), time.time())


@dataclass
class Coordinator:
    """`datamill serve` as its user starts it."""

    data: Path
    options: tuple[str, ...] = ()
    port: int = field(default_factory=find_free_port)
    external_url: str = ""
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def broker_url(self) -> str:
        return self.external_url or f"nats://127.0.0.1:{(self.data / 'nats-port').read_text().strip()}"

    @property
    def broker_pid(self) -> int:
        """Process number of the nats-server, 0 while it writes it down."""
        return int((self.data / "nats" / "server.pid").read_text() or 0)

    def keys(self) -> Keys:
        """What signs credentials at its broker."""
        return msgspec.json.decode((self.data / "keys").read_bytes(), type=Keys)

    def start(self) -> None:
        """Start it; its words go to `data/../serve.log`."""
        skip_without_broker()
        with (self.data.parent / "serve.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "datamill.service", "--data", str(self.data), "--listen",
                 f"127.0.0.1:{self.port}", *self.options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "XDG_CONFIG_HOME": str(self.data.parent / "config")},
            )  # fmt: skip

    def health(self) -> dict[str, Any] | None:
        """What it tells of itself, None when it does not answer."""
        try:
            with urllib.request.urlopen(f"{self.url}/api/health", timeout=30) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            return dict(json.load(error))
        except OSError:
            return None

    def is_well(self) -> bool:
        return (self.health() or {}).get("status") == "ok"

    def wait_until_well(self, seconds: float = 120.0) -> None:
        deadline = time.monotonic() + seconds
        while not self.is_well():
            assert self.process is not None
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, f"{self.health()}\n{self.log()}"
            time.sleep(0.05)

    def kill(self, number: int = signal.SIGKILL) -> int:
        """End it with a signal; return its status."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(120)

    def log(self) -> str:
        return (self.data.parent / "serve.log").read_text(errors="replace")[-6000:]


@contextlib.contextmanager
def standing_by(data: Path, database: str = "", options: tuple[str, ...] = ()) -> Iterator[Coordinator]:
    """A coordinator on a database (SQLite unless one is named); not started, and ended at the end."""
    data.mkdir()
    use_database(database or f"sqlite:///{data / 'coordinator.sqlite3'}")
    coordinator = Coordinator(data, options)
    try:
        yield coordinator
        if coordinator.process is not None and coordinator.process.poll() is None:
            assert coordinator.kill(signal.SIGTERM) == 0, coordinator.log()
    finally:
        if coordinator.process is not None and coordinator.process.poll() is None:
            coordinator.kill()
        connections["default"].close()
        use_database("sqlite://")


@dataclass
class PlayedWorker:
    """A worker by the protocol: journal and spool outlive connections, receipts empty the spool."""

    identity: WorkerIdentity
    url: str
    keys: Keys
    random: Random
    duration_s: float = 0.0
    #: Share of reports that are sent twice, and longest delay before a report is sent.
    repeated: float = 0.0
    delay_s: float = 0.0
    #: Share of records that are lost each time they are sent.
    lost: float = 0.0
    #: Silence after which it says again what has no answer.
    again_s: float = 2.0
    options: dict[str, Any] = field(default_factory=dict)
    executed: Counter[str] = field(default_factory=Counter)
    spool: dict[str, bytes] = field(default_factory=dict)
    sequence: int = 0
    _orders: asyncio.Queue[Orders] = field(default_factory=asyncio.Queue)

    @property
    def worker_id(self) -> str:
        return self.identity.worker_id

    async def serve(self) -> None:
        """Serve until cancelled, over as many connections as it takes."""
        while True:
            with contextlib.suppress(nats.errors.Error, OSError, TimeoutError):
                client, _ = await asyncio.wait_for(
                    connect_worker(self.url, self.keys, self.identity, **self.options), 10
                )
                try:
                    await self._serve_connection(client)
                finally:
                    with contextlib.suppress(Exception):
                        await asyncio.wait_for(client.close(), 5)
            await asyncio.sleep(0.2)

    async def _serve_connection(self, client: Client) -> None:
        await client.subscribe(f"jobs.{self.worker_id}", cb=self._hear)
        await self._say_all(client)
        said_s = time.monotonic()
        while client.is_connected:
            orders = None
            with contextlib.suppress(TimeoutError):
                orders = await asyncio.wait_for(self._orders.get(), 0.5)
            if orders is None and time.monotonic() - said_s > self.again_s:
                # Nobody tells what became of a report, or of this worker's orders.
                said_s = time.monotonic()
                await self._say_all(client)
            if orders is not None:
                said_s = time.monotonic()
                # A client whose server is gone may wait for ever.
                async with asyncio.timeout(60):
                    await self._obey(client, orders)

    async def _say_all(self, client: Client) -> None:
        for record in list(self.spool.values()):
            await self._hand_in(client, record)
        await self._publish(client, self._say_hello())

    async def _hear(self, message: Msg) -> None:
        self._orders.put_nowait(msgspec.json.decode(message.data, type=Orders))

    async def _obey(self, client: Client, orders: Orders) -> None:
        assert orders.worker_id == self.worker_id
        if orders.sequence < self.sequence:
            return
        self.sequence = orders.sequence
        for attempt in orders.receipts:
            self.spool.pop(attempt, None)
        lease = orders.lease
        if lease is None or lease.attempt in self.executed:
            return
        await client.publish(f"status.{self.worker_id}", self._report("taken", attempt=lease.attempt))
        self.executed[lease.attempt] += 1
        await asyncio.sleep(self.duration_s * self.random.random())
        self.spool[lease.attempt] = self._record(lease)
        await asyncio.sleep(self.delay_s * self.random.random())
        for _ in range(2 if self.random.random() < self.repeated else 1):
            await self._hand_in(client, self.spool[lease.attempt])

    async def _hand_in(self, client: Client, record: bytes) -> None:
        """Send a record to a broker that keeps none: nobody has it when nobody listened."""
        if self.random.random() >= self.lost:
            await self._publish(client, record)

    async def _publish(self, client: Client, report: bytes) -> None:
        await client.publish(f"results.{self.worker_id}", report)
        await client.flush(timeout=2)

    def _record(self, lease: Lease) -> bytes:
        record = make_lease_record(
            lease,
            WorkerFacts(self.worker_id, "0.1.0"),
            make_host("x86_64", "A", 2, "boot"),
            self.random,
            started_unix_ns=time.time_ns(),
            duration_s=0.001,
            trouble=None,
        )
        return self._report(
            "record",
            attempt=lease.attempt,
            record=msgspec.Raw(encode_record(record)),
            artifacts=(),
            rebooted=False,
            taken_boot_id="boot",
        )

    def _report(self, kind: str, **fields: Any) -> bytes:
        return encode_report(self.worker_id, "boot", time.time_ns(), encode_content(kind, fields))

    def _say_hello(self) -> bytes:
        # Without what it keeps, the coordinator would take a record that nobody heard for one that is lost.
        return self._report("hello", inventory=self._inventory(), policy={}, attempts=tuple(self.spool))

    def _inventory(self) -> msgspec.Raw:
        host = make_host("x86_64", "A", 2, "boot")
        return msgspec.Raw(msgspec.json.encode(make_inventory(self.worker_id, host, time.time_ns())))


@contextlib.asynccontextmanager
async def playing(workers: Sequence[PlayedWorker]) -> Any:
    """Let workers serve meanwhile."""
    tasks = [asyncio.create_task(worker.serve()) for worker in workers]
    try:
        yield
    finally:
        failed = [task for task in tasks if task.done()]
        # One cancellation may be lost in a client that connects or closes at that moment.
        left = set(tasks)
        for _ in range(10):
            if not left:
                break
            for task in left:
                task.cancel()
            _, left = await asyncio.wait(left, timeout=5)
        assert not left, "a worker does not end"
        for task in failed:
            raise AssertionError("a worker failed") from task.exception()
