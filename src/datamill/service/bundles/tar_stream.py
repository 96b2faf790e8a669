"""A tar archive that is sent while it is made: nothing of it lies on disk or in memory as a whole."""

from __future__ import annotations

import tarfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator

from asgiref.sync import sync_to_async

from datamill.results.bundles.bundle_files import BundleFile

_CHUNK = 1 << 20


def write_archive(members: Iterable[BundleFile]) -> Iterator[bytes]:
    """Yield a tar archive of these files.

    Raises:
        ChangedFileError: when a file is shorter or longer than it was said to be: the archive ends early, so
            that nobody takes it for whole.
        OSError: when one cannot be read.
    """
    for member in members:
        info = tarfile.TarInfo(member.name)
        info.size = member.size_bytes
        info.mode = 0o644
        yield info.tobuf(format=tarfile.PAX_FORMAT)
        yield from member.read()
        yield b"\0" * (-member.size_bytes % tarfile.BLOCKSIZE)
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
