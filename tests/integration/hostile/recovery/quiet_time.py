"""How long something would have taken on a machine with a processor for all who asked."""

from __future__ import annotations

import time
from pathlib import Path

_PRESSURE = Path("/proc/pressure/cpu")
#: How many times as slow something may be while others want the processor as well.
_SLOWER = 4.0


class QuietTime:
    """Counts seconds from when it is made; those in which somebody waited for a processor count a quarter.

    Where the kernel does not tell of these (before Linux 4.20, or without files of pressure) all count whole.
    """

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._waited_s = _read_waited_s()

    def elapsed_s(self) -> float:
        """Seconds since it was made, whether or not it had a processor."""
        return time.monotonic() - self._began_s

    def quiet_s(self) -> float:
        """Seconds that the same takes when nobody else wants a processor."""
        return self.elapsed_s() - (1 - 1 / _SLOWER) * (_read_waited_s() - self._waited_s)


def _read_waited_s() -> float:
    try:
        some = _PRESSURE.read_text().splitlines()[0]
    except OSError:
        return 0.0
    return int(some.rpartition("total=")[2]) / 1e6
