"""A tar archive that is sent while it is made: nothing of it lies on disk or in memory as a whole."""

from __future__ import annotations

import tarfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from asgiref.sync import sync_to_async

_CHUNK = 1 << 20


class ArchiveError(Exception):
    """A file is not as long as it was: the archive ends early, so that nobody takes it for whole."""


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file of the archive: its bytes, or the open or closed file that holds them."""

    name: str
    size_bytes: int
    source: bytes | Path | IO[bytes]

    def read(self) -> Iterator[bytes]:
        """Yield the content in pieces."""
        if isinstance(self.source, bytes):
            yield self.source
        elif isinstance(self.source, Path):
            with self.source.open("rb") as handle:
                yield from _read_pieces(handle)
        else:
            self.source.seek(0)
            yield from _read_pieces(self.source)


def _read_pieces(handle: IO[bytes]) -> Iterator[bytes]:
    while piece := handle.read(_CHUNK):
        yield piece


def write_archive(members: Iterable[ArchiveMember]) -> Iterator[bytes]:
    """Yield a tar archive of these files.

    Raises:
        ArchiveError: when a file is shorter or longer than it was said to be.
        OSError: when one cannot be read.
    """
    for member in members:
        info = tarfile.TarInfo(member.name)
        info.size = member.size_bytes
        info.mode = 0o644
        yield info.tobuf(format=tarfile.PAX_FORMAT)
        size = 0
        for piece in member.read():
            size += len(piece)
            if size > member.size_bytes:
                break
            yield piece
        if size != member.size_bytes:
            raise ArchiveError(f"{member.name} does not have the {member.size_bytes} bytes that it had")
        yield b"\0" * (-size % tarfile.BLOCKSIZE)
    yield b"\0" * (2 * tarfile.BLOCKSIZE)


async def send_pieces(pieces: Iterator[bytes], end: Callable[[], None]) -> AsyncIterator[bytes]:
    """Yield what an iterator yields that reads files and database: it runs in the request's own thread.

    `end` is called when no more is sent, for whatever reason.
    """

    def gather() -> bytes:
        """Return pieces of a megabyte in all: small files one by one would be many changes of thread."""
        found = bytearray()
        for piece in pieces:
            found += piece
            if len(found) >= _CHUNK:
                break
        return bytes(found)

    try:
        while chunk := await sync_to_async(gather)():
            yield chunk
    finally:
        end()
