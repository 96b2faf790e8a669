"""A connection to the broker that says what it likes: no client in between keeps it from anything."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from integration.service.brokers import MOST_S

from datamill.service.broker.keys import sign


@dataclass(frozen=True)
class Heard:
    """A message as the broker gave it."""

    subject: str
    reply: str
    headers: bytes
    payload: bytes


@dataclass
class RawWire:
    """What was heard and refused so far, and the means to say more."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    info: Mapping[str, Any]
    heard: list[Heard] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    pongs: int = 0
    is_closed: bool = False
    _pump: asyncio.Task[None] | None = None

    def say(self, *lines: str | bytes) -> None:
        """Send lines as they are."""
        for line in lines:
            self.writer.write((line.encode() if isinstance(line, str) else line) + b"\r\n")

    def publish(self, subject: str, payload: bytes = b"", reply: str = "", headers: bytes = b"") -> None:
        """Publish, with a header block as it is."""
        words = [subject, *([reply] if reply else [])]
        if headers:
            self.say(f"HPUB {' '.join(words)} {len(headers)} {len(headers) + len(payload)}")
        else:
            self.say(f"PUB {' '.join(words)} {len(payload)}")
        self.say(headers + payload)

    async def settle(self) -> bool:
        """Wait until the broker has dealt with all that was said; tell whether the line still stands."""
        wanted = self.pongs + 1
        if not self.is_closed:
            self.say("PING")
        deadline = time.monotonic() + MOST_S
        while self.pongs < wanted and not self.is_closed:
            assert time.monotonic() < deadline, "the broker does not answer"
            await asyncio.sleep(0.005)
        return not self.is_closed

    async def close(self) -> None:
        """Hang up."""
        self.writer.close()
        if self._pump is not None:
            await self._pump

    async def listen(self) -> None:
        """Take in what comes until the line is cut."""
        try:
            while line := await self.reader.readline():
                words = line.decode(errors="replace").split()
                match words[:1]:
                    case ["PING"]:
                        self.say("PONG")
                    case ["PONG"]:
                        self.pongs += 1
                    case ["-ERR"]:
                        self.complaints.append(line.decode(errors="replace").strip())
                    case ["MSG" | "HMSG"]:
                        await self._take(words)
        except (OSError, asyncio.IncompleteReadError):
            pass
        self.is_closed = True

    async def _take(self, words: list[str]) -> None:
        sizes = 2 if words[0] == "HMSG" else 1
        whole = int(words[-1])
        head = int(words[-2]) if sizes == 2 else 0
        reply = words[3] if len(words) == 4 + sizes else ""
        body = await self.reader.readexactly(whole + 2)
        self.heard.append(Heard(words[1], reply, body[:head], body[head:-2]))


async def open_wire(url: str, jwt: str, seed: str, **options: Any) -> RawWire:
    """Connect with a credential; the broker's refusal is among the complaints.

    Args:
        url: of the broker, without TLS.
        jwt: claims.
        seed: of the key that the claims are about.
        options: of CONNECT, beside or instead of the usual ones.
    """
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=16 << 20)
    info = json.loads((await reader.readline()).removeprefix(b"INFO "))
    signature = base64.urlsafe_b64encode(sign(seed, info["nonce"].encode())).decode().rstrip("=")
    told = {
        "jwt": jwt, "sig": signature, "verbose": False, "pedantic": False, "protocol": 1, "headers": True,
        "no_responders": True, "echo": True, "lang": "raw", "version": "1", **options,
    }  # fmt: skip
    wire = RawWire(reader, writer, info)
    wire.say(f"CONNECT {json.dumps(told)}")
    wire._pump = asyncio.create_task(wire.listen())
    await wire.settle()
    return wire
