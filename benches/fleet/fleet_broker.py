"""Memory of the broker for a fleet: nothing kept, beside a durable consumer a worker.

Ours passes orders on to workers that are connected, with a credential each, and keeps none. The peer is the
usual design of a queue: one durable consumer a worker on the same subjects, in JetStream, with orders of the
same size waiting for every worker.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from nats.aio.client import Client
from nats.js.api import AckPolicy, ConsumerConfig, RetentionPolicy, StreamConfig

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from fleet.fleet_processes import read_memory_mib
from integration.hostile.recovery.test_broker_with_streams import lab_broker
from integration.service.brokers import (
    WorkerIdentity,
    connect_coordinator,
    make_keys,
    running_broker,
)
from markdown import describe_machine, format_table

from datamill.service.broker.keys import Keys, sign

TARGET_MIB = 200.0
#: Requests under way at a time.
_AT_ONCE = 200


async def connect_quietly(url: str, keys: Keys, worker: WorkerIdentity) -> asyncio.StreamWriter:
    """Connect as a worker does, subscribe to its orders, and say nothing more."""
    host, _, port = url.removeprefix("nats://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 14)
    told = json.loads((await reader.readline()).removeprefix(b"INFO "))
    answer = {
        "jwt": worker.credential(keys),
        "sig": base64.urlsafe_b64encode(sign(worker.seed, told["nonce"].encode())).decode().rstrip("="),
        "verbose": False,
        "pedantic": False,
        "protocol": 1,
        "headers": True,
        "lang": "bench",
        "version": "1",
    }
    words = f"CONNECT {json.dumps(answer)}\r\nSUB jobs.{worker.worker_id} 1\r\nPING\r\n"
    writer.write(words.encode())
    told_next = await reader.readline()
    assert told_next.startswith(b"PONG"), told_next
    return writer


async def publish_orders(client: Client, workers: Sequence[WorkerIdentity], payload: bytes) -> None:
    """Publish orders for each worker and wait until they are on the disk."""
    jetstream = client.jetstream(timeout=60)

    async def publish(worker: WorkerIdentity) -> None:
        await jetstream.publish(f"jobs.{worker.worker_id}", payload)

    for first in range(0, len(workers), _AT_ONCE):
        await asyncio.gather(*(publish(worker) for worker in workers[first : first + _AT_ONCE]))


async def measure_ours(
    folder: Path, workers: Sequence[WorkerIdentity], payload: bytes, connected: int
) -> list[list[str]]:
    """Ours: workers connected, then all given orders."""
    keys, rows = make_keys(), []
    async with running_broker(folder, keys) as (server, url):
        assert server.pid is not None
        client, _ = await connect_coordinator(url, keys)
        lines = []
        start = time.perf_counter()
        for first in range(0, connected, _AT_ONCE):
            lines += await asyncio.gather(
                *(
                    connect_quietly(url, keys, worker)
                    for worker in workers[first : first + _AT_ONCE][:connected]
                )
            )
        seconds = time.perf_counter() - start
        rows.append(format_row("connected", len(workers), connected, server.pid, seconds, connected))
        start = time.perf_counter()
        for worker in workers[:connected]:
            await client.publish(f"jobs.{worker.worker_id}", payload)
        await client.flush(timeout=60)
        seconds = time.perf_counter() - start
        rows.append(
            format_row("and all given orders", len(workers), connected, server.pid, seconds, connected)
        )
        for line in lines:
            line.close()
        await client.close()
    return rows


async def measure_consumers(
    folder: Path, workers: Sequence[WorkerIdentity], payload: bytes
) -> list[list[str]]:
    """A work queue with a durable consumer for each worker."""
    keys = make_keys()
    async with lab_broker(folder, keys) as url:
        pid = int((folder / "server.pid").read_text())
        client, _ = await connect_coordinator(url, keys)
        jetstream = client.jetstream(timeout=60)
        await jetstream.add_stream(
            StreamConfig(
                name="JOBS",
                subjects=["jobs.>"],
                retention=RetentionPolicy.WORK_QUEUE,
                max_consumers=len(workers),
            )
        )
        await publish_orders(client, workers, payload)
        start = time.perf_counter()
        for first in range(0, len(workers), _AT_ONCE):
            await asyncio.gather(
                *(
                    jetstream.add_consumer(
                        "JOBS",
                        ConsumerConfig(
                            durable_name=worker.worker_id,
                            filter_subject=f"jobs.{worker.worker_id}",
                            ack_policy=AckPolicy.EXPLICIT,
                            max_ack_pending=1,
                        ),
                    )
                    for worker in workers[first : first + _AT_ONCE]
                )
            )
        seconds = time.perf_counter() - start
        row = format_row("a durable consumer each", len(workers), 0, pid, seconds, len(workers))
        await client.close()
    return [row]


def format_row(what: str, workers: int, connected: int, pid: int, seconds: float, done: int) -> list[str]:
    """One line of the table."""
    rate = f"{done / seconds:,.0f}/s" if done else ""
    return [what, f"{workers:,}", f"{connected:,}", f"{read_memory_mib(pid):.0f} MiB", rate]


def main() -> None:
    """Measure both and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=10_000)
    parser.add_argument("--connected", type=int, default=10_000)
    parser.add_argument("--consumers", type=int, default=10_000)
    parser.add_argument("--order-bytes", type=int, default=2000)
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    workers = [WorkerIdentity(f"w{number:012d}") for number in range(options.workers)]
    payload = b"x" * options.order_bytes
    print(f"{describe_machine()}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as folder:
        rows = asyncio.run(measure_ours(Path(folder) / "ours", workers, payload, options.connected))
        print("\n".join(f"{row[0]}: {row[3]}" for row in rows), file=sys.stderr)
        if options.consumers:
            peers = workers[: options.consumers]
            rows += asyncio.run(measure_consumers(Path(folder) / "peer", peers, payload))
    print(format_table(["design", "workers", "connected", "memory of nats-server", "rate"], rows))
    kept = float(rows[1][3].split()[0])
    print(f"\nTarget: under {TARGET_MIB:.0f} MiB for {options.workers:,} workers: "
          f"{'met' if kept < TARGET_MIB else 'missed'}.")  # fmt: skip


if __name__ == "__main__":
    main()
