"""How far an evaluation is: one line on standard error that is written over."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from datamill.experiment.messages.numbers import format_count
from datamill.experiment.quantities import format_duration
from datamill.platforms.evaluation.evaluation_plan import EvaluationPart

#: Seconds between two lines: on a terminal, and where lines go to a file.
_ON_TERMINAL, _IN_FILE = 0.2, 30.0


class PartProgress:
    """Says how many parts of an evaluation are finished and how long the rest may take."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """`stream` is standard error, unless it is given."""
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._started = self._last = time.monotonic()
        self._before: int | None = None
        self._shown = False

    def hear(self, done: int, planned: int, part: EvaluationPart) -> None:
        """Show that so many parts are finished; `part` is the last of them."""
        now = time.monotonic()
        if self._before is None:
            # Parts of an earlier start took no time of this one.
            self._before = done - 1 if done == 1 else done
        if now - self._last < (_ON_TERMINAL if self._terminal else _IN_FILE) and done < planned:
            return
        if not self._shown and done == planned:
            return
        self._last = now
        made = done - self._before
        left = (
            f", {format_duration(round((now - self._started) * (planned - done) / made))} left"
            if made and done < planned
            else ""
        )
        text = f"evaluate: {format_count(done)} of {format_count(planned)} parts{left} ({part.label})"
        self._stream.write(f"\r\x1b[K{text[:110]}" if self._terminal else f"{text}\n")
        self._stream.flush()
        self._shown = True

    def stop(self) -> None:
        """Leave the terminal's line as it was."""
        if self._shown and self._terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
