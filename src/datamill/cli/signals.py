"""Signals that end a command."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable

#: And the number of the signal that ended the command.
EXIT_SIGNALLED = 128
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def end_politely() -> None:
    """Have signals that end a process end this one as Ctrl-C does, with what it started."""
    for number in _list_heeded(_ENDING):
        signal.signal(number, lambda number, _: sys.exit(EXIT_SIGNALLED + number))


def leave_to_kernel() -> None:
    """Have the kernel end this process at a signal, where nothing needs undoing and Python may not return."""
    for number in _list_heeded((signal.SIGINT, *_ENDING)):
        signal.signal(number, signal.SIG_DFL)


def finish_quietly() -> None:
    """Have no signal print an exception while the interpreter ends, nor take the command's status with it."""
    for number in _list_heeded(_ENDING):
        signal.signal(number, signal.SIG_DFL)


def _list_heeded(numbers: Iterable[signal.Signals]) -> list[signal.Signals]:
    """Those that are not ignored: under nohup some are, and stay so."""
    return [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
