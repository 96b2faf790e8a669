"""A door in this process, with bounds of tenths of a second, before a small application."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import uvicorn
from integration.hostile.door import strangers  # noqa: F401 - sets Django up

from datamill.service.front_door.visitors.bounds import DoorBounds
from datamill.service.front_door.visitors.visitors import mark_member
from datamill.service.front_door.web_server import WebServer
from datamill.service.serving.tls import TlsFiles

QUICK = DoorBounds(
    most=40, most_of_origin=10, most_of_near=30, handshake_s=0.5, head_s=0.5, idle_s=1.0, body_s=0.5,
    body_bytes_a_second=1000, unread_s=0.7, unread_by_member_s=1.0, leaving_s=0.5,
)  # fmt: skip
HEAD = b" HTTP/1.1\r\nHost: a\r\n"
PATIENCE_S = 20.0
#: The end of an answer, in chunks.
WELL = b"\r\nwell\r\n0\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """An application: `/member` is known, `/large` is much to read, `/stream` does not end, `/body` reads."""
    path = scope["path"]
    if path.startswith("/member"):
        mark_member(scope)
    if path.endswith("body"):
        while (await receive()).get("more_body"):
            pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-path", path.encode())]})
    if path.endswith("large"):
        for _ in range(500):
            await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
    while path.endswith("stream"):
        await send({"type": "http.response.body", "body": b": a\n", "more_body": True})
        if (await receive())["type"] == "http.disconnect":
            return
    await send({"type": "http.response.body", "body": b"well"})


class Served:
    """A door, and what strangers and members do before it."""

    def __init__(self, web: WebServer, port: int) -> None:
        self.web, self.port = web, port
        self.visitors = web.visitors

    async def connect(self, said: bytes = b"") -> Streams:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(said)
        return reader, writer

    async def ask(self, path: str = "/a") -> bytes:
        reader, writer = await self.connect(b"GET " + path.encode() + HEAD + b"Connection: close\r\n\r\n")
        told = await asyncio.wait_for(reader.read(), PATIENCE_S)
        writer.close()
        return told

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def serving(bounds: DoorBounds = QUICK, tls: TlsFiles | None = None) -> AsyncIterator[Served]:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        answer, http="h11", ws="none", lifespan="off", log_config=None, access_log=False,
        timeout_keep_alive=30, timeout_graceful_shutdown=1,
        ssl_certfile=str(tls.certificate) if tls else None, ssl_keyfile=str(tls.key) if tls else None,
    )  # fmt: skip
    web = WebServer(config, bounds)
    task = asyncio.create_task(web.serve(sockets=[listening]))
    while not web.started:
        await asyncio.sleep(0.01)
    try:
        yield Served(web, listening.getsockname()[1])
    finally:
        web.should_exit = True
        await task


def run(
    act: Callable[[Served], Awaitable[None]], bounds: DoorBounds = QUICK, tls: TlsFiles | None = None
) -> None:
    async def go() -> None:
        async with serving(bounds, tls) as served:
            await act(served)

    asyncio.run(go())
