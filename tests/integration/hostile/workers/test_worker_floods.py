"""A worker that floods the coordinator, and credentials that end: a whole coordinator over the real wire."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import urllib.error
import urllib.request
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from integration.hostile.workers.raw_wire import open_wire
from integration.service.brokers import WorkerIdentity, connect, connect_worker, eventually
from integration.service.played_fleet import Coordinator, PlayedWorker, enrol, playing, submit

from datamill.service.broker.connections import MOST_CONNECTIONS
from datamill.service.broker.credentials import LIFE_S, sign_worker
from datamill.service.broker.keys import sign
from datamill.service.coordinator.presence.members import resume_worker
from datamill.service.kept_secrets import hash_secret
from datamill.service.models import Event, FleetWorker, Trial

KEY = "a key for files"


def ask(served: Coordinator, worker: WorkerIdentity, key: str = KEY, **changed: str) -> tuple[int, Any]:
    """Ask for a new credential; return the status and the answer."""
    nonce = "0123456789abcdef"
    signed = f"datamill-credential {worker.worker_id} {nonce}".encode()
    told = {"worker_id": worker.worker_id, "nonce": nonce, "signature": sign(worker.seed, signed).hex()}
    request = urllib.request.Request(
        f"{served.url}/api/workers/credential",
        json.dumps(told | changed).encode(),
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def give_key(worker: WorkerIdentity) -> None:
    FleetWorker.objects.filter(pk=worker.worker_id).update(api_key_sha256=hash_secret(KEY))


def list_kinds(worker: WorkerIdentity) -> set[str]:
    return set(Event.objects.filter(worker_id=worker.worker_id).values_list("kind", flat=True))


def test_a_worker_that_floods_is_kept_out_and_named_and_others_go_on(coordinator: Coordinator) -> None:
    async def run() -> None:
        bad, good = await asyncio.to_thread(enrol, ["bad", "good"])
        await asyncio.to_thread(give_key, bad)
        await asyncio.to_thread(submit, 1000)
        coordinator.start()
        await asyncio.to_thread(coordinator.wait_until_well)
        url, keys = coordinator.broker_url, coordinator.keys()
        async with playing([PlayedWorker(good, url, keys, Random(1), 0.1)]):
            wire = await open_wire(url, bad.credential(keys), bad.seed)
            for number in range(200):
                for _ in range(300):
                    wire.publish(f"results.{bad.worker_id}", b"x" * 100, "jobs.x", b"\xff")
                if number % 20 == 0:
                    wire.publish(f"status.{bad.worker_id}", b"y" * (7 << 20))
                if wire.is_closed:
                    break
                with contextlib.suppress(OSError):
                    await asyncio.wait_for(wire.writer.drain(), 60)
                await asyncio.sleep(0)
            await eventually(lambda: wire.is_closed)
            before = await asyncio.to_thread(Trial.objects.filter(state="counted").count)
            while await asyncio.to_thread(Trial.objects.filter(state="counted").count) < before + 5:
                await asyncio.sleep(0.1)
            assert "credential void" in await asyncio.to_thread(list_kinds, bad)
            told = {"report refused", "credential void", "worker drained"}
            assert not told & await asyncio.to_thread(list_kinds, good)
            await asyncio.to_thread(coordinator.wait_until_well)
            with pytest.raises(Exception, match=r"(?i)auth|closed|revoked|EOF"):
                await connect(url, wire_jwt(bad, keys, -60.0), bad.seed)
            assert (await asyncio.to_thread(ask, coordinator, bad))[0] == 403
            # Its owner has looked.
            owner = await asyncio.to_thread(User.objects.get, username="ada")
            await asyncio.to_thread(resume_worker, "bad", owner, time.time())
            status, credential = await asyncio.to_thread(ask, coordinator, bad)
            assert status == 200
            client, _ = await connect(url, credential["nats_jwt"], bad.seed)
            await client.flush()
            await client.close()

    asyncio.run(run())


def test_a_worker_that_takes_all_connections_is_kept_out_and_others_go_on(coordinator: Coordinator) -> None:
    async def run() -> None:
        bad, good = await asyncio.to_thread(enrol, ["bad", "good"])
        await asyncio.to_thread(submit, 1000)
        coordinator.start()
        await asyncio.to_thread(coordinator.wait_until_well)
        url, keys = coordinator.broker_url, coordinator.keys()
        async with playing([PlayedWorker(good, url, keys, Random(1), 0.1)]):
            # The coordinator gives no other to a worker that it shut out.
            credential = bad.credential(keys)
            wires = []
            for _ in range(2 * MOST_CONNECTIONS):
                with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                    wires.append(await open_wire(url, credential, bad.seed))
            await eventually(lambda: all(wire.is_closed for wire in wires))
            assert "credential void" in await asyncio.to_thread(list_kinds, bad)
            before = await asyncio.to_thread(Trial.objects.filter(state="counted").count)
            while await asyncio.to_thread(Trial.objects.filter(state="counted").count) < before + 5:
                await asyncio.sleep(0.1)
            told = {"report refused", "credential void", "worker drained"}
            assert not told & await asyncio.to_thread(list_kinds, good)
            await asyncio.to_thread(coordinator.wait_until_well)

    asyncio.run(run())


def wire_jwt(worker: WorkerIdentity, keys: Any, age_s: float) -> str:
    """A credential that was made before now."""
    return sign_worker(keys, worker.worker_id, worker.key, time.time() + age_s)


def test_a_credential_is_renewed_by_its_worker_alone_even_when_it_ended(coordinator: Coordinator) -> None:
    async def run() -> None:
        mine, other = await asyncio.to_thread(enrol, ["mine", "other"])
        await asyncio.to_thread(give_key, mine)
        coordinator.start()
        await asyncio.to_thread(coordinator.wait_until_well)
        url, keys = coordinator.broker_url, coordinator.keys()
        with pytest.raises(Exception, match=r"(?i)auth|closed|expired|EOF"):
            await connect(url, wire_jwt(mine, keys, -LIFE_S - 60), mine.seed)
        status, credential = await asyncio.to_thread(ask, coordinator, mine)
        assert (status, credential["worker_id"]) == (200, mine.worker_id)
        client, _ = await connect(url, credential["nats_jwt"], mine.seed)
        await client.close()
        # The key for files alone, or a request for another worker, gets nothing.
        assert (await asyncio.to_thread(ask, coordinator, mine, "another key"))[0] == 401
        assert (await asyncio.to_thread(ask, coordinator, other))[0] == 403
        for changed in ({"worker_id": other.worker_id}, {"nonce": "other"}, {"signature": "00" * 64},
                        {"signature": "zz"}):  # fmt: skip
            assert (await asyncio.to_thread(ask, coordinator, mine, KEY, **changed))[0] == 403
        await asyncio.to_thread(FleetWorker.objects.filter(pk=mine.worker_id).update, state="removed")
        assert (await asyncio.to_thread(ask, coordinator, mine))[0] == 401
        assert "credential made" in await asyncio.to_thread(list_kinds, mine)
        again, _ = await connect_worker(url, keys, other)
        await again.close()

    asyncio.run(run())
