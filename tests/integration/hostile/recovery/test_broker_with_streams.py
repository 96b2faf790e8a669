"""A broker of a lab's own, with JetStream: what earlier versions left there, and streams of others."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from integration.hostile.workers.raw_wire import open_wire
from integration.hostile.workers.worker_scene import HEADERS, MINE, PAYLOADS, TARGETS, read_rights
from integration.service.brokers import connect_coordinator, connect_patiently, make_keys, skip_without_broker
from nats.js import JetStreamContext
from nats.js.api import StreamConfig
from running.free_ports import find_free_port

from datamill.service.broker import credentials
from datamill.service.broker.credentials import sign_account
from datamill.service.broker.keys import Keys
from datamill.service.broker.link import BrokerAddress, BrokerLink, CapturedError
from datamill.service.broker.server import find_server
from datamill.service.broker.server_config import BrokerPlace, format_server_config

#: The rights of a worker's credential of the first version.
FORMER_RIGHTS = {
    "pub": {"allow": ["results.wmine", "status.wmine", "$JS.API.DIRECT.GET.JOBS.jobs.wmine"]},
    "sub": {"allow": ["jobs.wmine", "_INBOX.wmine.>"]},
}


@asynccontextmanager
async def lab_broker(folder: Path, keys: Keys) -> AsyncIterator[str]:
    """A nats-server with JetStream for the fleet's account; with its address."""
    skip_without_broker()
    place = BrokerPlace(folder, "127.0.0.1", find_free_port())
    folder.mkdir()
    text = format_server_config(place, keys, {}, time.time())
    claims = sign_account(keys, {}, time.time())
    nats = read_rights(claims)
    nats["limits"] |= {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
    allowed = credentials._sign(keys.operator_seed, keys.account, "fleet", nats, time.time())
    line = next(line for line in text.splitlines() if line.strip().startswith(keys.account))
    text = text.replace(line, f"  {keys.account}: {allowed}")
    place.config_file.write_text(f'{text}jetstream {{ store_dir: "{folder / "store"}" }}\n')
    server = subprocess.Popen(
        [str(find_server()), "-c", str(place.config_file)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        worker, _ = await connect_patiently(place.own_url, keys, MINE)
        await worker.close()
        yield place.own_url
    finally:
        server.kill()
        server.wait(30)


async def make_former_streams(jetstream: JetStreamContext) -> None:
    """The streams of the first version, and one of somebody else."""
    await jetstream.add_stream(StreamConfig(name="JOBS", subjects=["jobs.>"], allow_direct=True))
    await jetstream.add_stream(StreamConfig(name="RESULTS", subjects=["results.>"]))
    await jetstream.add_stream(StreamConfig(name="KEPT", subjects=["kept.>"], allow_direct=True))
    for subject in ("jobs.wmine", "jobs.wother", "results.wother", "kept.x"):
        await jetstream.publish(subject, b"{}")


def test_credentials_of_the_first_version_command_nobody_after_the_upgrade(tmp_path: Path) -> None:
    """All nine attacks that were found, and each reply to whatever such a credential may publish."""

    async def run() -> None:
        keys = make_keys()
        async with lab_broker(tmp_path / "lab", keys) as url:
            client, _ = await connect_coordinator(url, keys)
            jetstream = client.jetstream(timeout=30)
            await make_former_streams(jetstream)
            link = BrokerLink(BrokerAddress((url,), keys), lambda: None, time.time)
            await link.connect()
            await link.prepare()
            assert [info.config.name for info in await jetstream.streams_info()] == ["KEPT"]
            heard: list[str] = []

            async def hear(message: object) -> None:
                heard.append(message.subject)  # type: ignore[attr-defined]

            for subject in ("jobs.>", "status.wother", "results.wother", "coordinator.>"):
                await client.subscribe(subject, cb=hear)
            await client.flush()
            jwt = credentials._sign_user(keys, MINE.key, "wmine", FORMER_RIGHTS, time.time())
            wire = await open_wire(url, jwt, MINE.seed)
            for target in TARGETS:
                for subject, payload in itertools.product(FORMER_RIGHTS["pub"]["allow"], PAYLOADS):
                    wire.publish(subject, payload, target)
                await wire.settle()
            for headers, target in itertools.product(HEADERS, ("jobs.wother", "$JS.API.STREAM.PURGE.KEPT")):
                wire.publish("results.wmine", b"x", target, headers)
                wire.publish("results.wmine", b"x", target, headers)
            await wire.settle()
            await asyncio.sleep(0.5)
            await client.flush()
            assert heard == []
            (kept,) = await jetstream.streams_info()
            assert (kept.config.name, kept.state.messages) == ("KEPT", 1)
            await link.check()
            await wire.close()
            await link.close()
            await client.close()

    asyncio.run(run())


@pytest.mark.parametrize("subject", ["results.>", "results.wmine", "status.*", "jobs.>"])
def test_a_stream_that_catches_the_fleets_messages_is_noticed(tmp_path: Path, subject: str) -> None:
    async def run() -> None:
        keys = make_keys()
        async with lab_broker(tmp_path / "lab", keys) as url:
            client, _ = await connect_coordinator(url, keys)
            link = BrokerLink(BrokerAddress((url,), keys), lambda: None, time.time)
            await link.connect()
            await link.prepare()
            assert link.prepared
            await client.jetstream(timeout=30).add_stream(StreamConfig(name="CATCH", subjects=[subject]))
            with pytest.raises(CapturedError, match="CATCH"):
                await link.check()
            assert not link.prepared
            await client.jetstream(timeout=30).delete_stream("CATCH")
            await link.prepare()
            assert link.prepared
            await link.close()
            await client.close()

    asyncio.run(run())
