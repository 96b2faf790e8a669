"""A file that lies elsewhere as an answer, whole or a range of it, passed on while it comes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from functools import partial

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from datamill.service.files.store import KeptFile, ask_store

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


class RangedResponse(Response):
    """Answers GET and HEAD with a file, and GET with one range of it where the request asks for one.

    With `is_checked` the end of the whole comes only where its digest is right.

    Of several ranges, and of one that cannot be read, the whole comes, as HTTP allows. An answer whose file
    turns out to be another one, or whose storage goes away, ends early: its length is told before.
    """

    def __init__(self, kept: KeptFile, headers: Mapping[str, str], *, is_checked: bool) -> None:
        super().__init__(media_type="application/octet-stream", headers=headers)
        self._kept = kept
        self._is_checked = is_checked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        size = self._kept.size_bytes
        told = Headers(scope=scope)
        start, stop = self._choose(scope["method"], told, size)
        self.headers["accept-ranges"] = "bytes"
        if start >= stop and size:
            self.status_code, start, stop = 416, 0, 0
            self.headers["content-range"] = f"bytes */{size}"
        elif (start, stop) != (0, size):
            self.status_code = 206
            self.headers["content-range"] = f"bytes {start}-{stop - 1}/{size}"
        self.headers["content-length"] = str(stop - start)
        # A storage that is away says so before the answer begins.
        pieces = self._read(scope["method"], start, stop)
        following = partial(next, pieces, None)
        piece = await ask_store(following)
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        departure = asyncio.create_task(_await_departure(receive))
        try:
            while piece is not None:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                if departure.done():
                    # Nobody reads the rest, and a server says nothing of it.
                    return
                piece = await ask_store(following)
        finally:
            departure.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _read(self, method: str, start: int, stop: int) -> Iterator[bytes]:
        if method == "HEAD":
            return iter(())
        if self._is_checked and (start, stop) == (0, self._kept.size_bytes):
            return self._kept.read()
        return self._kept.read(start, stop)

    def _choose(self, method: str, told: Headers, size: int) -> tuple[int, int]:
        """Return where what is sent begins and ends."""
        asked = _RANGE.fullmatch(told.get("range", "")) if method == "GET" else None
        if asked is None or told.get("if-range", self.headers["etag"]) != self.headers["etag"]:
            return 0, size
        first, last = asked.groups()
        if first:
            return int(first), min(int(last) + 1, size) if last else size
        return (max(size - int(last), 0), size) if last else (0, size)


async def _await_departure(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
