"""The disk of a simulated machine: what was not synced is at the mercy of a power cut."""

from __future__ import annotations

from random import Random


class DiskFullError(Exception):
    """There is no room on the disk."""


class Disk:
    """Files that are replaced whole, as the agent writes them: a new file, renamed over the old one."""

    def __init__(self) -> None:
        self._synced: dict[str, bytes] = {}
        self._seen: dict[str, bytes] = {}
        self.full = False

    def write(self, name: str, content: bytes) -> None:
        """Replace a file; it survives a power cut only after `sync`.

        Raises:
            DiskFullError: the disk is full, and the file is as it was.
        """
        if self.full:
            raise DiskFullError(name)
        self._seen[name] = content

    def remove(self, name: str) -> None:
        self._seen.pop(name, None)

    def read(self, name: str) -> bytes | None:
        return self._seen.get(name)

    def list_names(self, prefix: str) -> list[str]:
        return [name for name in self._seen if name.startswith(prefix)]

    def sync(self) -> None:
        self._synced = dict(self._seen)

    def cut_power(self, random: Random) -> None:
        """Each change since the last sync was written out by chance, or is gone."""
        for name in sorted(self._synced.keys() | self._seen.keys()):
            old, new = self._synced.get(name), self._seen.get(name)
            kept = new if old == new or random.random() < 0.5 else old
            if kept is None:
                self._seen.pop(name, None)
            else:
                self._seen[name] = kept
        self.sync()

    def wipe(self) -> None:
        """The machine is installed anew."""
        self._seen.clear()
        self.sync()
