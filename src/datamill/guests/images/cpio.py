"""Archives in the format that the kernel unpacks into its initial memory disk."""

from __future__ import annotations

import stat
from pathlib import Path


class CpioArchive:
    """A cpio archive in the format `newc`; all that is in it belongs to root."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._folders: set[str] = set()

    def add_folder(self, place: str) -> None:
        """Add a folder and those that it is in, unless they are there."""
        for part in (*reversed(Path(place).parents), Path(place)):
            if part != Path() and str(part) not in self._folders:
                self._folders.add(str(part))
                self._add(str(part), stat.S_IFDIR | 0o755, b"")

    def add_file(self, place: str, content: bytes, mode: int) -> None:
        """Add a file and the folders that it is in."""
        self.add_folder(str(Path(place).parent))
        self._add(place, stat.S_IFREG | mode, content)

    def finish(self) -> bytes:
        """Return the archive's bytes."""
        self._add("TRAILER!!!", 0, b"")
        return b"".join(self._parts)

    def _add(self, place: str, mode: int, content: bytes) -> None:
        name = place.encode() + b"\0"
        # inode, mode, user, group, links, time, size, four device numbers, length of the name, checksum
        fields = (len(self._parts), mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields) + name
        self._parts.append(_padded(header) + _padded(content))


def _padded(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % 4)
