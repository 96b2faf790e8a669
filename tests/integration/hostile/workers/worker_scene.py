"""A broker with its coordinator, a hostile worker, a victim, and a witness that hears every message."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration.hostile.workers.raw_wire import RawWire, open_wire
from integration.service.brokers import WorkerIdentity, make_keys, running_broker

from datamill.service.broker.credentials import sign_coordinator
from datamill.service.broker.keys import Keys
from datamill.service.broker.link import BrokerAddress, BrokerLink
from datamill.service.broker.server import BrokerServer

MINE = WorkerIdentity("wmine")
OTHER = WorkerIdentity("wother")
#: Who may publish and listen where, of each kind of subject. A right that is not here fails.
MAY_PUBLISH = {"results.wmine", "status.wmine"}
MAY_HEAR = {"jobs.wmine"}
#: Subjects that mean something to the broker, the coordinator or another worker.
TARGETS = (
    "jobs.wother", "jobs.wmine", "jobs.>", "status.wother", "results.wother", "coordinator.reports",
    "_INBOX.wother.x", "_INBOX.wmine.x",
    *(f"$JS.API.STREAM.{verb}.{stream}" for stream in ("JOBS", "RESULTS", "KEPT")
      for verb in ("DELETE", "PURGE", "INFO", "CREATE", "UPDATE", "MSG.GET", "MSG.DELETE", "LEADER.STEPDOWN",
                   "SNAPSHOT", "PEER.REMOVE")),
    "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.INFO", "$JS.API.META.LEADER.STEPDOWN",
    "$JS.API.CONSUMER.DELETE.RESULTS.coordinator", "$JS.API.CONSUMER.CREATE.RESULTS.x",
    "$JS.API.CONSUMER.DURABLE.CREATE.RESULTS.x", "$JS.API.CONSUMER.MSG.NEXT.RESULTS.coordinator",
    "$JS.API.CONSUMER.PAUSE.RESULTS.coordinator", "$JS.API.CONSUMER.INFO.RESULTS.coordinator",
    "$JS.API.DIRECT.GET.JOBS", "$JS.API.DIRECT.GET.JOBS.jobs.wmine", "$JS.API.DIRECT.GET.JOBS.jobs.wother",
    "$JS.API.DIRECT.GET.KEPT", "$JS.ACK.RESULTS.coordinator.1.1.1.1.0", "$JS.FC.RESULTS.coordinator.x",
    "$JSC.CI.JOBS", "$NRG.V.x", "$SYS.REQ.SERVER.PING", "$SYS.REQ.SERVER.PING.CONNZ",
    "$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.CLAIMS.DELETE", "$SYS.REQ.USER.INFO", "$SYS.REQ.ACCOUNT.PING.CONNZ",
    "$SYS.REQ.ACCOUNT.PING.STATZ", "$SYS.ACCOUNT.x.DISCONNECT", "$SRV.PING", "$KV.x.y", "$O.x.C.y",
    "_R_.x.y", "_GR_.x.y", "$GNR.x", "$MQTT.sub.x",
)  # fmt: skip
#: Where the witness listens beside them.
WIDE = ("*", "results.>", "status.>", "coordinator.>", "_INBOX.wother.>", "_INBOX.wmine.>")
#: What a message may carry that makes a broker or stream answer, or act elsewhere.
PAYLOADS = (b"", b'{"seq":99999999}', b'{"last_by_subj":"jobs.wother"}', b"+ACK", b"-TERM", b'{"batch":9}')


def block(*lines: str) -> bytes:
    """A block of headers."""
    return "\r\n".join(("NATS/1.0", *lines, "", "")).encode()


HEADERS = (
    b"",
    block("Nats-Msg-Id: 7.t0001.1"),
    block("Nats-Rollup: all"),
    block("Nats-Rollup: sub"),
    block("Nats-Expected-Stream: KEPT"),
    block("Nats-Expected-Last-Sequence: 99"),
    block(
        "Nats-Expected-Last-Subject-Sequence: 99", "Nats-Expected-Last-Subject-Sequence-Subject: jobs.wother"
    ),
    block("Nats-TTL: 1s"),
    block("Nats-Schedule: @every 1s", "Nats-Schedule-Target: jobs.wother"),
    block("Nats-Schedule: @at 2020-01-01T00:00:00Z", "Nats-Schedule-Target: $JS.API.STREAM.DELETE.KEPT"),
    block("Nats-Batch-Id: b", "Nats-Batch-Sequence: 1", "Nats-Batch-Commit: 1"),
    block("Nats-Incr: 1"),
    block("Nats-Required-Api-Level: 99"),
    block("Nats-Trace-Dest: jobs.wother"),
    block("Nats-Trace-Dest: $JS.API.STREAM.DELETE.KEPT", "Nats-Trace-Only: true"),
    block("traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    block("Nats-Consumer-Stalled: jobs.wother"),
    block("Nats-Request-Info: {}"),
    b"NATS/1.0 100 FlowControl Request\r\n\r\n",
    b"NATS/1.0 503\r\n\r\n",
    b"NATS/1.0\r\nno colon\r\n\r\n",
    b"\xff\xfe\x00",
)


@dataclass
class Scene:
    """A broker with its coordinator, an attacker, a victim, and who hears everything."""

    keys: Keys
    url: str
    server: BrokerServer
    link: BrokerLink
    attacker: RawWire
    victim: RawWire
    witness: RawWire

    async def settle(self) -> None:
        """Wait until what was said has had its consequences."""
        for wire in (self.attacker, self.witness, self.victim):
            await wire.settle()
        # An answer of the broker's own comes from another thread of it.
        await asyncio.sleep(0.2)
        await self.witness.settle()

    def find_foreign(self) -> list[tuple[str, bytes]]:
        """What was heard in the account that the attacker may not have caused."""
        return [(heard.subject, heard.payload[:80]) for heard in self.witness.heard
                if heard.subject not in MAY_PUBLISH]  # fmt: skip


def read_rights(jwt: str) -> dict[str, Any]:
    """The claims of a credential."""
    claims = jwt.split(".")[1]
    return dict(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["nats"])


@asynccontextmanager
async def playing_scene(folder: Path) -> AsyncIterator[Scene]:
    """The scene, with the coordinator ready."""
    keys = make_keys()
    async with running_broker(folder / "nats", keys) as (server, url):
        link = BrokerLink(BrokerAddress((url,), keys, is_own=True), lambda: None, time.time)
        await link.connect()
        await link.prepare()
        attacker = await open_wire(url, MINE.credential(keys), MINE.seed)
        victim = await open_wire(url, OTHER.credential(keys), OTHER.seed)
        victim.say("SUB jobs.wother 1")
        witness = await open_wire(url, sign_coordinator(keys, time.time()), keys.coordinator_seed)
        # Not where the coordinator asks whether there are streams: who listens there has to answer.
        heard = {*WIDE, *TARGETS} - {"$JS.API.STREAM.NAMES"}
        witness.say(*(f"SUB {subject} {number}" for number, subject in enumerate(sorted(heard))))
        for wire in (attacker, victim, witness):
            await wire.settle()
        yield Scene(keys, url, server, link, attacker, victim, witness)
        for wire in (attacker, victim, witness):
            await wire.close()
        await link.close()
