"""One worker's credential over the real wire: what its holder publishes, names as reply, and listens to.

A witness with the coordinator's rights hears every message of the account. Whatever an attacker does, the
witness hears nothing but what that worker may say, and the victim hears nothing at all.
"""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest
from integration.hostile.workers.worker_scene import (
    HEADERS,
    MAY_HEAR,
    MAY_PUBLISH,
    MINE,
    PAYLOADS,
    TARGETS,
    Scene,
    playing_scene,
    read_rights,
)

from datamill.service.coordinator.messages.orders import UnsentOrders


async def see_that_nothing_happened(scene: Scene) -> None:
    """Judge what the others heard, and that the coordinator still hears and is heard."""
    await scene.settle()
    assert scene.find_foreign() == []
    assert scene.victim.heard == []
    assert scene.link.connected
    await scene.link.check()
    scene.link.take(100_000)
    for wire, worker_id in ((scene.victim, "wother"), (scene.attacker, "wmine")):
        if wire.is_closed:
            continue
        wire.publish(f"results.{worker_id}", b"still here")
        await wire.settle()
        await scene.settle()
        assert (worker_id, b"still here") in [
            (report.worker_id_of_subject, report.payload) for report in scene.link.take(1000)
        ]
    assert await scene.link.publish([UnsentOrders("wother", 1, b"orders")])
    await scene.settle()
    assert [heard.payload for heard in scene.victim.heard] == [b"orders"]


def test_a_credential_has_the_rights_that_this_table_knows_and_no_others() -> None:
    """A new right without a line here fails; so does one that reaches another worker's subjects."""
    rights = read_rights(MINE.credential(_keys()))
    assert set(rights["pub"]) == set(rights["sub"]) == {"allow"}
    assert set(rights["pub"]["allow"]) == MAY_PUBLISH
    assert set(rights["sub"]["allow"]) == MAY_HEAR
    assert rights["allowed_connection_types"] == ["STANDARD"]
    assert 0 < rights["subs"] <= 4
    assert 0 < rights["payload"] <= 8 << 20
    assert "resp" not in rights


def test_the_coordinator_listens_where_this_table_looks(tmp_path: Path) -> None:
    """A new subscription of the coordinator that no attack below reaches fails here."""

    async def run() -> None:
        async with playing_scene(tmp_path) as scene:
            assert scene.link._client is not None
            listened = {sub.subject for sub in scene.link._client._subs.values()}
            own = {name for name in listened if name.startswith("_INBOX.")}
            assert listened - own == {"results.*", "status.*"}
            assert all(len(name) > 25 for name in own)

    asyncio.run(run())


def test_nothing_reaches_a_subject_that_a_worker_names_as_reply(tmp_path: Path) -> None:
    async def run() -> None:
        async with playing_scene(tmp_path) as scene:
            said = read_rights(MINE.credential(scene.keys))["pub"]["allow"]
            for target in TARGETS:
                for subject, payload in itertools.product(said, PAYLOADS):
                    scene.attacker.publish(subject, payload, target)
                await scene.attacker.settle()
            await see_that_nothing_happened(scene)

    asyncio.run(run())


def test_no_header_makes_anybody_answer_or_act_elsewhere(tmp_path: Path) -> None:
    async def run() -> None:
        async with playing_scene(tmp_path) as scene:
            for subject, headers, target in itertools.product(
                sorted(MAY_PUBLISH), HEADERS, ("", "jobs.wother", "$JS.API.STREAM.DELETE.KEPT")
            ):
                # Twice: some are answered when they are repeated.
                for _ in range(2):
                    scene.attacker.publish(subject, b"x", target, headers)
                    await scene.attacker.settle()
            await see_that_nothing_happened(scene)

    asyncio.run(run())


@pytest.mark.parametrize("reply", ["", "jobs.wother"])
def test_a_worker_may_not_publish_elsewhere(tmp_path: Path, reply: str) -> None:
    async def run() -> None:
        async with playing_scene(tmp_path) as scene:
            wire = scene.attacker
            for target in (*TARGETS, "results.wminer", "results", "results.wmine.more", "status.*", ">"):
                refused = len(wire.complaints)
                for payload in PAYLOADS:
                    wire.publish(target, payload, reply)
                await wire.settle()
                if target not in MAY_PUBLISH and not wire.is_closed:
                    assert len(wire.complaints) - refused == len(PAYLOADS), target
            await see_that_nothing_happened(scene)

    asyncio.run(run())


def test_a_worker_may_not_listen_elsewhere(tmp_path: Path) -> None:
    async def run() -> None:
        async with playing_scene(tmp_path) as scene:
            wire = scene.attacker
            wild = (">", "*", "*.*", "jobs.*", "results.>", "results.*", "results.wmine", "status.>",
                    "status.wmine", "_INBOX.>", "_INBOX.*.x", "$JS.>", "$SYS.>", "*.wother")  # fmt: skip
            for number, subject in enumerate((*wild, *TARGETS)):
                if subject in MAY_HEAR:
                    continue
                refused = len(wire.complaints)
                # Alone, and as one of a group.
                wire.say(f"SUB {subject} a{number}", f"SUB {subject} group b{number}")
                await wire.settle()
                assert len(wire.complaints) - refused == 2, subject
            assert scene.link._client is not None
            inbox = scene.link._client.new_inbox()
            for subject in ("jobs.wother", "results.wother", inbox, "status.wother"):
                scene.witness.publish(subject, b"secret")
            await scene.settle()
            assert wire.heard == []

    asyncio.run(run())


def _keys():  # type: ignore[no-untyped-def]
    from integration.service.brokers import make_keys

    return make_keys()
