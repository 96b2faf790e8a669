"""Signals that wait until what must not be cut in two is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_RAISING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@contextmanager
def deferring_signals() -> Iterator[None]:
    """Have signals raise at the end of the block rather than within it.

    A process that was started and not yet noted would outlive the interruption. Nothing is masked: a process
    that is started in the block would inherit that.
    """
    if threading.current_thread() is not threading.main_thread():
        # Python's handlers run in the main thread alone.
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    former: dict[signal.Signals, Callable[[int, FrameType | None], object]] = {}
    for number in _RAISING:
        handler = signal.getsignal(number)
        if callable(handler):
            former[number] = handler
            signal.signal(number, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    for came_number, frame in came:
        former[signal.Signals(came_number)](came_number, frame)
