"""Whom a real nats-server lets in, and for how long."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import time
from pathlib import Path

import nats.errors
import pytest
from integration.service.brokers import (
    WorkerIdentity,
    connect,
    connect_patiently,
    connect_worker,
    eventually,
    make_keys,
    running_broker,
)

from datamill.service.broker.credentials import LIFE_S, _sign_user, sign_worker
from datamill.service.coordinator.joining.credentials import FOR_EVER_UNIX_S

MINE = WorkerIdentity("wmine")
OTHER = WorkerIdentity("wother")
#: A worker whose name begins with another's.
LONGER = WorkerIdentity("wminer")


@pytest.mark.parametrize("name", ["a.b", "*", ">", "w*", "", "w 1", "wé", "w\n"])
def test_no_credential_is_made_for_a_name_that_reaches_other_subjects(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the identity"):
        sign_worker(make_keys(), name, MINE.key, 0.0)


def test_a_credential_of_another_account_or_another_worker_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        keys = make_keys()
        async with running_broker(tmp_path / "nats", keys) as (_, url):
            for jwt, seed in (
                (MINE.credential(make_keys()), MINE.seed),
                (OTHER.credential(keys), MINE.seed),
                (_tampered(MINE.credential(keys)), MINE.seed),
                (sign_worker(keys, "wmine", MINE.key, time.time() - LIFE_S - 2), MINE.seed),
            ):
                with pytest.raises((nats.errors.Error, OSError)):
                    await connect(url, jwt, seed)

    asyncio.run(run())


def test_a_credential_that_ends_cuts_its_connection_and_a_new_one_is_taken(tmp_path: Path) -> None:
    async def run() -> None:
        keys = make_keys()
        async with running_broker(tmp_path / "nats", keys) as (_, url):
            ending = sign_worker(keys, "wmine", MINE.key, time.time() - LIFE_S + 6)
            mine, _ = await connect(url, ending, MINE.seed)
            await mine.flush()
            await eventually(lambda: not mine.is_connected)
            again, _ = await connect_worker(url, keys, MINE)
            await again.flush()
            assert again.is_connected
            await again.close()

    asyncio.run(run())


def test_a_credential_without_an_end_of_an_earlier_version_becomes_void(tmp_path: Path) -> None:
    async def run() -> None:
        keys = make_keys()
        made_s = time.time() - LIFE_S - 7200
        async with running_broker(tmp_path / "nats", keys) as (_, url):
            endless = _sign_user(keys, MINE.key, "wmine", {"pub": {}, "sub": {}}, made_s)
            with pytest.raises((nats.errors.Error, OSError)):
                await connect(url, endless, MINE.seed)

    asyncio.run(run())


def test_a_removed_worker_is_disconnected_and_refused_and_others_stay(tmp_path: Path) -> None:
    async def run() -> None:
        keys = make_keys()
        removed: dict[str, float] = {}
        async with running_broker(tmp_path / "nats", keys, lambda: removed) as (server, url):
            mine, _ = await connect_worker(url, keys, MINE)
            other, _ = await connect_worker(url, keys, OTHER)
            assert not await server.refresh_revocations()
            removed[MINE.key] = FOR_EVER_UNIX_S
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
        removed: dict[str, float] = {}
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
                removed[MINE.key] = FOR_EVER_UNIX_S
                assert await server.refresh_revocations()
            assert sent[:2] == [signal.SIGHUP, signal.SIGHUP]
            await eventually(lambda: not mine.is_connected)

    asyncio.run(run())


def _tampered(jwt: str) -> str:
    """The same claims about another worker, with the old signature."""
    head, body, signature = jwt.split(".")
    claims = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).replace(b"wmine", b"wevil")
    return f"{head}.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.{signature}"
