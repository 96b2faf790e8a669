"""A log that nobody fills from outside: what repeats is a line a minute, and all of it is bounded."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from datamill.experiment.messages.numbers import format_count

#: Lines of one kind, and of all kinds, that are written within the time below; the rest is counted.
MOST_OF_A_KIND = 10
MOST_LINES = 600
MOST_BYTES = 1 << 20
WINDOW_S = 60.0
#: Longest line, and longest account of an error with its traceback.
_MOST_LINE = 1000
_MOST_TRACE = 16_000
#: Texts and kinds that are remembered within a minute.
_MOST_REMEMBERED = 5000
_CHANGING = re.compile(r"0x[0-9a-f]+|[0-9]+|'[^']*'")
#: All that a terminal obeys, and characters that reorder a line or end it for some readers.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


@dataclass(slots=True)
class _Kind:
    """What there was of one kind of line within a minute."""

    ends_s: float
    line: str
    written: int = 0
    left_out: int = 0


class CalmHandler(logging.StreamHandler[IO[str]]):
    """Writes a log in which the same line stands once a minute, and then how often it came.

    Args:
        stream: where it is written.
        clock_s: a monotonic clock.
    """

    def __init__(self, stream: IO[str], clock_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._clock_s = clock_s
        self._kinds: dict[tuple[object, ...], _Kind] = {}
        self._texts: set[tuple[object, ...]] = set()
        self._all = _Kind(0.0, "")
        self._bytes = 0
        self._next_look_s = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it."""
        try:
            self.tell_repeats()
            now_s = self._clock_s()
            if now_s >= self._all.ends_s:
                self._all, self._bytes = _Kind(now_s + WINDOW_S, ""), 0
                self._texts.clear()
            message = clean_line(record.getMessage(), _MOST_LINE)
            kind, text = self._find_kind(record, message, now_s)
            if text in self._texts or kind.written >= MOST_OF_A_KIND:
                kind.left_out += 1
                return
            if self._all.written >= MOST_LINES or self._bytes >= MOST_BYTES:
                self._all.left_out += 1
                return
            if len(self._texts) < _MOST_REMEMBERED:
                self._texts.add(text)
            kind.written += 1
            kind.line = message
            self._all.written += 1
            self._write(self._format_whole(record, message))
        except Exception:
            # As all of Python's handlers do.
            self.handleError(record)

    def tell_repeats(self, *, ends: bool = False) -> None:
        """Write how often what was left out came, of minutes that are over, or of all when the log ends."""
        now_s = self._clock_s()
        # A look costs as much as there are kinds.
        if now_s < self._next_look_s and not ends:
            return
        self._next_look_s = now_s + 1.0
        for key in [key for key, kind in self._kinds.items() if ends or now_s >= kind.ends_s]:
            kind = self._kinds.pop(key)
            self._texts = {text for text in self._texts if text[0] != key}
            if kind.left_out:
                self._say(
                    f"… and {format_count(kind.left_out)} more like it in the last minute: {kind.line[:200]}"
                )
        if self._all.left_out and (ends or now_s >= self._all.ends_s):
            self._say(f"… and {format_count(self._all.left_out)} more lines of all kinds in the last minute")
            self._all.left_out = 0

    def close(self) -> None:
        """End the log."""
        # The stream may have ended before.
        with contextlib.suppress(OSError, ValueError):
            self.tell_repeats(ends=True)
        super().close()

    def _find_kind(
        self, record: logging.LogRecord, message: str, now_s: float
    ) -> tuple[_Kind, tuple[object, ...]]:
        failure = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        # Of a refusal, everything that its sender chose is an argument.
        template = _CHANGING.sub("#", str(record.msg))[:80]
        status = getattr(record, "status_code", 0)
        key = (record.name, record.levelno, template, status, failure)
        if key not in self._kinds and len(self._kinds) >= _MOST_REMEMBERED:
            key = (record.name, record.levelno, "", 0, "")
        kind = self._kinds.setdefault(key, _Kind(now_s + WINDOW_S, message))
        return kind, (key, message)

    def _format_whole(self, record: logging.LogRecord, message: str) -> str:
        """Return the line, and below it, indented, the traceback where there is one."""
        told = logging.makeLogRecord({**record.__dict__, "msg": message, "args": (), "exc_text": None})
        whole = self.format(told)
        first, *rest = whole[:_MOST_TRACE].split("\n")
        return "\n".join([first, *(f"  {clean_line(line, _MOST_LINE)}" for line in rest)])

    def _say(self, text: str) -> None:
        told = {"name": "datamill.log", "msg": text, "levelno": logging.INFO, "levelname": "INFO"}
        self._write(self.format(logging.makeLogRecord(told)))

    def _write(self, text: str) -> None:
        self._bytes += len(text) + 1
        self.stream.write(text + self.terminator)
        self.flush()


def clean_line(text: str, most: int) -> str:
    """Return a text as one line of at most so many characters, without anything that a terminal obeys."""
    cut = text if len(text) <= most else f"{text[:most]}… ({format_count(len(text))} characters)"
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), cut)


class RepeatsTeller(threading.Thread):
    """Tells what was left out of a log even when nothing further is written."""

    def __init__(self, handler: CalmHandler) -> None:
        super().__init__(name="log", daemon=True)
        self._handler = handler

    def run(self) -> None:
        """Look now and then, as long as the process lasts."""
        while True:
            time.sleep(5.0)
            self._handler.acquire()
            try:
                self._handler.tell_repeats()
            finally:
                self._handler.release()
