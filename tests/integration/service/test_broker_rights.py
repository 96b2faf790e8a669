"""What a worker can and cannot do at the broker, asked of a real nats-server."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import nats.errors
import pytest
from integration.service.brokers import (
    WorkerIdentity,
    connect,
    connect_coordinator,
    connect_patiently,
    connect_worker,
    eventually,
    make_keys,
    running_broker,
)
from nats.aio.client import Client

from datamill.service.broker.credentials import sign_worker
from datamill.service.broker.keys import Keys
from datamill.service.broker.streams import JOBS, RESULTS, ensure_consumer, ensure_streams

MINE = WorkerIdentity("wmine")
OTHER = WorkerIdentity("wother")
#: A worker whose name begins with another's.
LONGER = WorkerIdentity("wminer")


class Fleet:
    """A broker with streams, the coordinator's connection, and one worker's."""

    def __init__(
        self, keys: Keys, url: str, coordinator: Client, worker: Client, complaints: list[str]
    ) -> None:
        self.keys = keys
        self.url = url
        self.coordinator = coordinator
        self.worker = worker
        self.complaints = complaints


def in_a_fleet(tmp_path: Path, act: Callable[[Fleet], Awaitable[None]]) -> None:
    async def run() -> None:
        keys = make_keys()
        async with running_broker(tmp_path / "nats", keys) as (_, url):
            coordinator, _ = await connect_coordinator(url, keys)
            await ensure_streams(coordinator.jetstream(timeout=30), 1, is_own=True)
            await ensure_consumer(coordinator.jetstream(timeout=30))
            for worker in (MINE, OTHER, LONGER):
                await coordinator.jetstream(timeout=30).publish(
                    f"jobs.{worker.worker_id}", worker.worker_id.encode()
                )
            worker, complaints = await connect_worker(url, keys, MINE)
            try:
                await act(Fleet(keys, url, coordinator, worker, complaints))
            finally:
                await worker.close()
                await coordinator.close()

    asyncio.run(run())


async def denied(fleet: Fleet, subject: str) -> bool:
    """Tell whether the server refused the last publication to a subject."""
    await fleet.worker.flush()
    text = f'permissions violation for publish to "{subject}"'
    await eventually(lambda: any(text.lower() in told.lower() for told in fleet.complaints))
    return True


def test_a_worker_reads_its_own_orders_and_its_reports_are_kept(tmp_path: Path) -> None:
    async def act(fleet: Fleet) -> None:
        answer = await fleet.worker.request("$JS.API.DIRECT.GET.JOBS.jobs.wmine", b"", timeout=30)
        assert answer.data == b"wmine"
        heard = []

        async def hear(message: object) -> None:
            heard.append(message)

        await fleet.worker.subscribe("jobs.wmine", cb=hear)
        await fleet.worker.flush()
        await fleet.coordinator.jetstream(timeout=30).publish("jobs.wmine", b"next")
        await eventually(lambda: heard)
        receipt = json.loads((await fleet.worker.request("results.wmine", b"report", timeout=30)).data)
        assert (receipt["stream"], receipt["seq"]) == (RESULTS, 1)
        await fleet.worker.publish("status.wmine", b"")
        await fleet.worker.flush()
        assert fleet.complaints == []

    in_a_fleet(tmp_path, act)


@pytest.mark.parametrize(
    "subject",
    [
        "results.wother",
        "status.wother",
        "jobs.wother",
        "jobs.wmine",
        "results.wminer",
        "results",
        "results.wmine.more",
        "$JS.API.DIRECT.GET.JOBS.jobs.wother",
        "$JS.API.DIRECT.GET.JOBS.jobs.wminer",
        "$JS.API.DIRECT.GET.JOBS",
        "$JS.API.DIRECT.GET.RESULTS.results.wother",
        "$JS.API.STREAM.MSG.GET.JOBS",
        "$JS.API.STREAM.NAMES",
        "$JS.API.STREAM.LIST",
        "$JS.API.STREAM.INFO.JOBS",
        "$JS.API.STREAM.CREATE.MINE",
        "$JS.API.STREAM.DELETE.JOBS",
        "$JS.API.STREAM.PURGE.RESULTS",
        "$JS.API.CONSUMER.CREATE.JOBS.mine",
        "$JS.API.CONSUMER.DURABLE.CREATE.RESULTS.mine",
        "$JS.API.CONSUMER.MSG.NEXT.RESULTS.coordinator",
        "$JS.API.INFO",
        "$JS.ACK.RESULTS.coordinator.1.1.1.1.0",
        "coordinator.reports",
        "$SYS.REQ.SERVER.PING",
        "$SYS.REQ.CLAIMS.UPDATE",
        "_INBOX.wother.x",
    ],
)
def test_a_worker_may_not_publish_elsewhere(tmp_path: Path, subject: str) -> None:
    async def act(fleet: Fleet) -> None:
        jetstream = fleet.coordinator.jetstream(timeout=30)
        before = await jetstream.stream_info(JOBS), await jetstream.stream_info(RESULTS)
        await fleet.worker.publish(subject, b"{}", reply="_INBOX.wmine.answer")
        assert await denied(fleet, subject)
        after = await jetstream.stream_info(JOBS), await jetstream.stream_info(RESULTS)
        assert [info.state.last_seq for info in after] == [info.state.last_seq for info in before]

    in_a_fleet(tmp_path, act)


@pytest.mark.parametrize(
    "subject",
    [">", "*", "jobs.>", "jobs.*", "jobs.wother", "jobs.wminer", "results.>", "results.wmine", "status.>",
     "_INBOX.>", "_INBOX.wother.>", "_INBOX.*.x", "coordinator.reports", "$JS.>", "$SYS.>"],
)  # fmt: skip
def test_a_worker_may_not_listen_elsewhere(tmp_path: Path, subject: str) -> None:
    async def act(fleet: Fleet) -> None:
        heard = []

        async def hear(message: object) -> None:
            heard.append(message)

        await fleet.worker.subscribe(subject, cb=hear)
        await fleet.worker.flush()
        text = f'permissions violation for subscription to "{subject}"'
        await eventually(lambda: any(text.lower() in told.lower() for told in fleet.complaints))
        await fleet.coordinator.jetstream(timeout=30).publish("jobs.wother", b"secret")
        await fleet.coordinator.publish("_INBOX.wother.x", b"secret")
        await fleet.coordinator.flush()
        await asyncio.sleep(0.1)
        assert heard == []

    in_a_fleet(tmp_path, act)


def test_headers_of_a_worker_do_not_reach_what_others_sent(tmp_path: Path) -> None:
    async def act(fleet: Fleet) -> None:
        other, _ = await connect_worker(fleet.url, fleet.keys, OTHER)
        await other.request("results.wother", b"report", timeout=30)
        # A roll-up would remove everything else in the stream.
        for header in ({"Nats-Rollup": "all"}, {"Nats-Rollup": "sub"}):
            answer = await fleet.worker.request("results.wmine", b"x", timeout=30, headers=header)
            assert "error" in json.loads(answer.data)
        state = (await fleet.coordinator.jetstream(timeout=30).stream_info(RESULTS)).state
        assert state.messages == 1
        await other.close()

    in_a_fleet(tmp_path, act)


def test_a_worker_cannot_pass_another_report_off_as_a_repetition(tmp_path: Path) -> None:
    async def act(fleet: Fleet) -> None:
        for identity in ("7.t0001.1", "wother.boot.1"):
            headers = {"Nats-Msg-Id": identity}
            await fleet.worker.request("results.wmine", b"forged", timeout=30, headers=headers)
        # Workers give their reports no identity: there is none that another could use up before.
        other, _ = await connect_worker(fleet.url, fleet.keys, OTHER)
        for _ in range(2):
            receipt = json.loads((await other.request("results.wother", b"true", timeout=30)).data)
            assert not receipt.get("duplicate")
        await other.close()

    in_a_fleet(tmp_path, act)


@pytest.mark.parametrize("name", ["a.b", "*", ">", "w*", "", "w 1", "wé", "w\n"])
def test_no_credential_is_made_for_a_name_that_reaches_other_subjects(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the identity"):
        sign_worker(make_keys(), name, MINE.key, 0.0)


def test_a_credential_of_another_account_or_another_worker_is_refused(tmp_path: Path) -> None:
    async def act(fleet: Fleet) -> None:
        for jwt, seed in (
            (MINE.credential(make_keys()), MINE.seed),
            (OTHER.credential(fleet.keys), MINE.seed),
            (_tampered(MINE.credential(fleet.keys)), MINE.seed),
        ):
            with pytest.raises((nats.errors.Error, OSError)):
                await connect(fleet.url, jwt, seed)

    in_a_fleet(tmp_path, act)


def test_a_removed_worker_is_disconnected_and_refused_and_others_stay(tmp_path: Path) -> None:
    async def run() -> None:
        keys = make_keys()
        removed: list[str] = []
        async with running_broker(tmp_path / "nats", keys, lambda: removed) as (server, url):
            mine, _ = await connect_worker(url, keys, MINE)
            other, _ = await connect_worker(url, keys, OTHER)
            assert not await server.refresh_revocations()
            removed.append(MINE.key)
            assert await server.refresh_revocations()
            await eventually(lambda: not mine.is_connected)
            with pytest.raises((nats.errors.Error, OSError)):
                await connect_worker(url, keys, MINE)
            assert other.is_connected
            await other.flush()
            # It stays removed when the broker starts again, and new ones join.
            assert server.pid is not None
            starts = server.starts
            os.kill(server.pid, signal.SIGKILL)
            await eventually(lambda: server.starts > starts and server.pid)
            # It answers others, so that it is no absence when it does not answer this one.
            again, _ = await connect_patiently(url, keys, LONGER)
            with pytest.raises(nats.errors.Error):
                await connect_worker(url, keys, MINE)
            await again.close()

    asyncio.run(run())


def test_a_server_that_missed_its_signal_is_told_again(tmp_path: Path) -> None:
    async def run() -> None:
        keys = make_keys()
        removed: list[str] = []
        async with running_broker(tmp_path / "nats", keys, lambda: removed) as (server, url):
            mine, _ = await connect_worker(url, keys, MINE)
            send_signal = asyncio.subprocess.Process.send_signal
            sent: list[int] = []

            def lose_first(process: asyncio.subprocess.Process, number: int) -> None:
                sent.append(number)
                if len(sent) > 1:
                    send_signal(process, number)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(asyncio.subprocess.Process, "send_signal", lose_first)
                removed.append(MINE.key)
                assert await server.refresh_revocations()
            assert sent[:2] == [signal.SIGHUP, signal.SIGHUP]
            await eventually(lambda: not mine.is_connected)

    asyncio.run(run())


def _tampered(jwt: str) -> str:
    """The same claims about another worker, with the old signature."""
    head, body, signature = jwt.split(".")
    claims = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).replace(b"wmine", b"wevil")
    return f"{head}.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.{signature}"
