"""Ports for servers that tests start."""

from __future__ import annotations

import random
import socket
from pathlib import Path

_FIRST = 10_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_random = random.SystemRandom()


def find_free_port(host: str = "127.0.0.1") -> int:
    """Return a port that nothing listens on, nor the one after it, and that no connection is given by chance.

    The kernel takes the near ends of outgoing connections from a range of its own. A port from there may be
    gone before its server has it, or while that is started again: even to a client that tries to reach it,
    which then speaks to itself.
    """
    last = min(int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32_768, 65_000) - 2
    if last <= _FIRST:
        last = 65_000
    for _ in range(1000):
        port = _random.randint(_FIRST, last)
        if _is_free(host, port) and _is_free(host, port + 1):
            return port
    raise OSError("no port is free")


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True
