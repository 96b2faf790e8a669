"""Streams at a broker that has JetStream: none may keep, or answer, what travels through ours.

A stream answers each message that is published into it, on the reply subject that the publisher named, with
the broker's own rights. So no subject on which a worker may publish is part of a stream. (`no_ack` does not
help: a replicated stream of nats-server 2.15 answers a repeated `Nats-Msg-Id` all the same.)
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

import msgspec
import nats.errors
from nats.aio.client import Client

log = logging.getLogger("datamill.broker")

#: Everything that passes between coordinator and workers.
SUBJECTS = ("jobs.>", "results.>", "status.>")
#: Streams of earlier versions, which are deleted: what they hold is sent again.
FORMER_STREAMS = {"JOBS": ["jobs.>"], "RESULTS": ["results.>"]}
#: Name of an account's API where JetStream is off for it: nothing answers then.
_API = "$JS.API"


class _StreamConfig(msgspec.Struct, frozen=True):
    """What a stream keeps."""

    subjects: list[str] | None = None


class _Answer(msgspec.Struct, frozen=True):
    """What JetStream answers to the questions that are asked here, each with fields of its own."""

    streams: list[str] | None = None
    config: _StreamConfig | None = None
    success: bool = False


async def find_streams(client: Client, timeout_s: float) -> list[str]:
    """Return the streams that keep what passes between coordinator and workers; those of ours are deleted.

    Args:
        client: connected as the coordinator.
        timeout_s: longest wait for each answer, in seconds.

    Raises:
        nats.errors.Error, TimeoutError: when the broker has JetStream and does not answer.
    """
    found: set[str] = set()
    for subject in SUBJECTS:
        answer = await _ask(client, "STREAM.NAMES", {"subject": subject}, timeout_s)
        found.update(answer.streams or ())
    for name in sorted(found & FORMER_STREAMS.keys()):
        info = await _ask(client, f"STREAM.INFO.{name}", {}, timeout_s)
        if info.config is not None and info.config.subjects == FORMER_STREAMS[name]:
            answer = await _ask(client, f"STREAM.DELETE.{name}", {}, timeout_s)
            if answer.success:
                log.info("the stream %s of an earlier version was deleted", name)
                found.discard(name)
    return sorted(found)


async def _ask(client: Client, verb: str, request: Mapping[str, str], timeout_s: float) -> _Answer:
    """Ask JetStream; an empty answer where it is off."""
    payload = json.dumps(request).encode() if request else b""
    answer = await client.request(f"{_API}.{verb}", payload, timeout=timeout_s)
    try:
        return msgspec.json.decode(answer.data or b"{}", type=_Answer)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise nats.errors.Error(f"what it says of its streams cannot be read: {error}") from None
