"""Files on the coordinator's own disk, by their content: `DATA/files/ab/abcd…`."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

_PIECE_BYTES = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_sha256(text: str) -> bool:
    """Tell whether a text has the form of a digest; nothing else becomes a path."""
    return _SHA256.fullmatch(text) is not None


def name_by_digest(sha256: str) -> str:
    """Return the name of a file below the place where files are kept: `ab/abcd…`."""
    if not is_sha256(sha256):
        raise ValueError(f"{sha256!r} is not a SHA-256")
    return f"{sha256[:2]}/{sha256}"


def name_stored_file(sha256: str) -> Path:
    """Return where the disk has the file of this digest, whether it is there or not."""
    return Path(settings.DATA_FOLDER) / "files" / name_by_digest(sha256)


@dataclass(frozen=True, slots=True)
class DiskFile:
    """A file of the store that lies on this disk."""

    source: Path
    size_bytes: int
    version: str

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the content in pieces, or what of it is from `start` to before `stop`.

        Raises:
            OSError: it cannot be read.
        """
        left = (self.size_bytes if stop is None else stop) - start
        with self.source.open("rb") as handle:
            handle.seek(start)
            while left > 0 and (piece := handle.read(min(left, _PIECE_BYTES))):
                left -= len(piece)
                yield piece

    @contextmanager
    def at_hand(self) -> Iterator[Path]:
        """Yield where it lies."""
        yield self.source


class DiskShelf:
    """Keeps files in the data folder."""

    def find(self, sha256: str) -> DiskFile | None:
        """Return the file of this digest, or None if it is not kept."""
        path = name_stored_file(sha256)
        try:
            facts = path.stat()
        except FileNotFoundError:
            return None
        version = f"{facts.st_ino}-{facts.st_mtime_ns}-{facts.st_ctime_ns}"
        return DiskFile(path, facts.st_size, version)

    def keep(self, part: Path, sha256: str) -> None:
        """Move a file that was checked here, so that it is whole or not there.

        Raises:
            OSError: it cannot be kept.
        """
        target = name_stored_file(sha256)
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(target)
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def check(self) -> None:
        """The data folder was checked when it was opened."""

    def remove(self, digests: Collection[str]) -> None:
        """Remove files; one that is not there is no error."""
        for sha256 in digests:
            name_stored_file(sha256).unlink(missing_ok=True)
