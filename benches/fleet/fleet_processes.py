"""What a coordinator's processes use, as the kernel accounts for them."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_TICKS_A_S = os.sysconf("SC_CLK_TCK")
_EVERY_S = 0.5


@dataclass
class Usage:
    """Processor time in seconds and most resident memory in MiB, by name of a part."""

    cpu_s: dict[str, float] = field(default_factory=dict)
    memory_mib: dict[str, float] = field(default_factory=dict)


class Watch:
    """Watches processes while a block runs: `parts` are their numbers; of `whole` ones children count too."""

    def __init__(self, parts: Mapping[str, int], whole: frozenset[str] = frozenset()) -> None:
        self._parts = dict(parts)
        self._whole = whole
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.usage = Usage()

    def __enter__(self) -> Usage:
        self._before = {name: self._read_cpu_s(name) for name in self._parts}
        self._thread.start()
        return self.usage

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        for name, before in self._before.items():
            self.usage.cpu_s[name] = self._read_cpu_s(name) - before

    def _look(self) -> None:
        while True:
            for name, pid in self._parts.items():
                if name not in self._whole:
                    most = max(self.usage.memory_mib.get(name, 0.0), read_memory_mib(pid))
                    self.usage.memory_mib[name] = most
            if self._ended.wait(_EVERY_S):
                return

    def _read_cpu_s(self, name: str) -> float:
        pid = self._parts[name]
        if name not in self._whole:
            return sum(_read_stat(pid)[11:13]) / _TICKS_A_S
        # The time of children that ended is their parent's; of those that live it is not yet.
        ticks = sum(_read_stat(pid)[11:15])
        for child in list_children(pid):
            try:
                ticks += sum(_read_stat(child)[11:13])
            except OSError:
                continue
        return ticks / _TICKS_A_S


def read_memory_mib(pid: int) -> float:
    """Return the resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def read_parent(pid: int) -> int:
    """Return the process that started another."""
    return _read_stat(pid)[1]


def list_children(pid: int) -> list[int]:
    """Return the processes that a process started and that live."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _read_stat(pid: int) -> list[int]:
    """Fields of `/proc/PID/stat` from the state on, the state itself as 0."""
    text = Path(f"/proc/{pid}/stat").read_text()
    return [0, *(int(word) for word in text.rpartition(")")[2].split()[1:])]
