"""A real nats-server to which reports come faster than they are read: it refuses, and forgets nothing."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from integration.service.brokers import WorkerIdentity, connect_worker, eventually, make_keys, running_broker
from nats.aio.client import Client

from datamill.service.broker.link import BrokerAddress, BrokerLink
from datamill.service.broker.streams import CONSUMER, MOST_RESULTS_BYTES, RESULTS

WORKER = WorkerIdentity("wmine")
BOUND = 4 << 20
REPORT = b"x" * 100_000
Act = Callable[[BrokerLink, Client], Awaitable[None]]


def at_a_small_broker(tmp_path: Path, act: Act, most_bytes: int = BOUND) -> None:
    """Act with the coordinator's link and a worker at a broker whose stream of reports is small."""

    async def run() -> None:
        keys = make_keys()
        async with running_broker(tmp_path / "nats", keys) as (_, url):
            address = BrokerAddress((url,), keys, is_own=True, most_results_bytes=most_bytes)
            link = BrokerLink(address, lambda: None, time.time)
            await link.connect()
            await link.prepare()
            worker, _ = await connect_worker(url, keys, WORKER)
            try:
                await act(link, worker)
            finally:
                await worker.close()
                await link.close()

    asyncio.run(run())


async def publish(worker: Client, number: int) -> bool:
    """Publish a report as a worker does; tell whether the broker keeps it."""
    answer = await worker.request(f"results.{WORKER.worker_id}", b"%06d" % number + REPORT, timeout=30)
    return "error" not in json.loads(answer.data)


async def fill(worker: Client) -> int:
    """Publish until the broker refuses; return how many it keeps."""
    kept = 0
    while await publish(worker, kept):
        kept += 1
        assert kept * len(REPORT) < 2 * BOUND, "nothing is refused"
    return kept


async def count(link: BrokerLink) -> int:
    assert link._client is not None
    return (await link._client.jetstream(timeout=30).stream_info(RESULTS)).state.messages


async def find_floor(link: BrokerLink) -> int:
    """Up to which report all are acknowledged."""
    assert link._client is not None
    floor = (await link._client.jetstream(timeout=30).consumer_info(RESULTS, CONSUMER)).ack_floor
    return 0 if floor is None else floor.stream_seq


def test_a_full_stream_refuses_and_keeps_all_that_it_acknowledged(tmp_path: Path) -> None:
    async def act(link: BrokerLink, worker: Client) -> None:
        kept = await fill(worker)
        assert 30 < kept <= BOUND // len(REPORT)
        # Nobody acknowledged any: there is nothing that may go.
        await link.make_room()
        assert await count(link) == kept
        assert not await publish(worker, kept)
        await eventually(lambda: link.waiting == kept)
        numbers = [int(arrival.report.payload[:6]) for arrival in link.take(kept)]
        assert numbers == list(range(kept))

    at_a_small_broker(tmp_path, act)


def test_reports_that_are_in_the_database_make_room_and_no_others(tmp_path: Path) -> None:
    async def act(link: BrokerLink, worker: Client) -> None:
        kept = await fill(worker)
        await eventually(lambda: link.waiting == kept)
        arrivals = link.take(kept)
        # The third is not in the database: what follows it stays with it.
        await link.acknowledge([*arrivals[:2], *arrivals[3:]])
        deadline = time.monotonic() + 60
        while await count(link) == kept:
            assert time.monotonic() < deadline
            await link.make_room()
        assert await count(link) == kept - 2
        assert await publish(worker, kept)
        await link.acknowledge(arrivals[2:3])
        while await count(link) > 1:
            assert time.monotonic() < deadline
            await link.make_room()
        assert await fill(worker) == kept - 1

    at_a_small_broker(tmp_path, act)


def test_a_stream_that_is_not_half_full_forgets_nothing(tmp_path: Path) -> None:
    async def act(link: BrokerLink, worker: Client) -> None:
        for number in range(5):
            assert await publish(worker, number)
        await eventually(lambda: link.waiting == 5)
        await link.acknowledge(link.take(5))
        deadline = time.monotonic() + 60
        while await find_floor(link) < 5:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        await link.make_room()
        assert await count(link) == 5

    at_a_small_broker(tmp_path, act)


def test_a_broker_that_has_no_room_for_the_bound_gets_a_smaller_one(tmp_path: Path) -> None:
    async def act(link: BrokerLink, worker: Client) -> None:
        assert link.prepared
        assert await publish(worker, 0)
        assert link._client is not None
        info = await link._client.jetstream(timeout=30).stream_info(RESULTS)
        assert 64 << 20 <= (info.config.max_bytes or 0) < 1 << 50

    at_a_small_broker(tmp_path, act, most_bytes=1 << 50)


def test_a_stream_of_an_earlier_version_is_bounded(tmp_path: Path) -> None:
    async def act(link: BrokerLink, worker: Client) -> None:
        assert await publish(worker, 0)
        assert link._client is not None
        jetstream = link._client.jetstream(timeout=30)
        config = (await jetstream.stream_info(RESULTS)).config
        config.max_bytes, config.discard = -1, "old"  # type: ignore[assignment]
        await jetstream.update_stream(config)
        await link.prepare()
        info = await jetstream.stream_info(RESULTS)
        assert (info.config.max_bytes, str(info.config.discard)) == (BOUND, "new")
        assert info.state.messages == 1

    at_a_small_broker(tmp_path, act)
    assert MOST_RESULTS_BYTES >= 1 << 30
