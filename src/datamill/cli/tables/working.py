"""A sign of life while an analysis computes: what works, and for how long already."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType

from datamill.experiment.quantities import format_duration

#: Seconds before the first sign and between two: on a terminal, and where lines go to a file.
_ON_TERMINAL, _IN_FILE = (2.0, 1.0), (30.0, 60.0)
#: Where a call keeps what it shows.
KEY = "datamill.working"


class Working:
    """Says on standard error, from a thread of its own, that a computation goes on; quiet if it is short."""

    def __init__(self, what: str, write: Callable[[str], object] = sys.stderr.write) -> None:
        """`what` is computing, such as `analyze quantiles`."""
        self._what = what
        self._write = write
        self._terminal = sys.stderr.isatty()
        self._ended = threading.Event()
        self._shown = False
        self._thread = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> Working:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""
        self.stop()

    def stop(self) -> None:
        """End, and leave the terminal's line as it was."""
        self._ended.set()
        self._thread.join()
        if self._shown and self._terminal:
            self._write("\r\x1b[K")
            self._shown = False

    def _tell(self) -> None:
        started = time.monotonic()
        first, every = _ON_TERMINAL if self._terminal else _IN_FILE
        wait = first
        while not self._ended.wait(wait):
            spent = format_duration(round(time.monotonic() - started))
            text = f"{self._what}: computing for {spent}; Ctrl-C ends it"
            self._write(f"\r\x1b[K{text}" if self._terminal else f"{text}\n")
            sys.stderr.flush()
            self._shown = True
            wait = every
