"""Who may have something computed now: few at once, each user in turn, and nobody waits without end."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from datamill.experiment.errors import InputError
from datamill.service.bounded_work.departures import Departure

#: How often a thread that waits looks whether its client has left.
_LOOK_EVERY_S = 0.1


class BusyError(InputError):
    """The coordinator computes as much as it may for this user, or for all; later it will work."""

    #: When to try again.
    RETRY_AFTER_S = 5


class GoneError(InputError):
    """The client did not wait for its answer."""

    def __init__(self) -> None:
        super().__init__("the client left before there was an answer")


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """How many requests work and wait at once, for all users and for each; and the longest wait.

    Free places are open to those who wait as well. `between_s` is the least time from one that is begun to
    the next.
    """

    working: int
    working_each: int
    waiting: int
    waiting_each: int
    longest_wait_s: float
    between_s: float = 0.0


class _Waiter:
    def __init__(self) -> None:
        self.called = threading.Event()


class Turns:
    """Hands out the places: of those who wait, to the user who was served longest ago."""

    def __init__(self, places: WorkLimits) -> None:
        self._places = places
        self._lock = threading.Lock()
        self._working: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[_Waiter]] = OrderedDict()
        self._next_s = 0.0

    @contextmanager
    def take(self, user: str, departure: Departure) -> Iterator[None]:
        """Wait for a place, and keep it while the block runs.

        Raises:
            BusyError: when too many wait already, or it takes too long.
            GoneError: when the client leaves meanwhile.
        """
        waiter = self._queue(user)
        ends_s = time.monotonic() + self._places.longest_wait_s
        while not waiter.called.wait(self._find_pause()):
            if departure.has_left and self._withdraw(user, waiter):
                raise GoneError
            if time.monotonic() > ends_s and self._withdraw(user, waiter):
                raise _refuse("the coordinator is busy with other experiments")
            with self._lock:
                self._call_next()
        try:
            yield
        finally:
            with self._lock:
                self._working[user] -= 1
                self._working += Counter()
                self._call_next()

    def _find_pause(self) -> float:
        """Return how long a waiter sleeps before it looks again."""
        until_next_s = self._next_s - time.monotonic()
        return until_next_s if 0 < until_next_s < _LOOK_EVERY_S else _LOOK_EVERY_S

    def _queue(self, user: str) -> _Waiter:
        with self._lock:
            mine = len(self._waiting.get(user, ())) + self._working[user]
            if mine >= self._places.working_each + self._places.waiting_each:
                raise _refuse(f"{mine} of your requests are being worked on")
            here = self._working.total() + sum(map(len, self._waiting.values()))
            if here >= self._places.working + self._places.waiting:
                raise _refuse("the coordinator is busy with other experiments")
            waiter = _Waiter()
            self._waiting.setdefault(user, deque()).append(waiter)
            self._call_next()
            return waiter

    def _withdraw(self, user: str, waiter: _Waiter) -> bool:
        """Take a waiter out of the queue; return whether it was still there."""
        with self._lock:
            if waiter.called.is_set():
                return False
            self._waiting[user].remove(waiter)
            if not self._waiting[user]:
                del self._waiting[user]
            return True

    def _call_next(self) -> None:
        """Give free places to those who may have them; with the lock."""
        while self._working.total() < self._places.working and time.monotonic() >= self._next_s:
            user = next(
                (name for name in self._waiting if self._working[name] < self._places.working_each), None
            )
            if user is None:
                return
            queue = self._waiting.pop(user)
            queue.popleft().called.set()
            self._working[user] += 1
            self._next_s = time.monotonic() + self._places.between_s
            if queue:
                # Behind everybody else who waits.
                self._waiting[user] = queue


def _refuse(message: str) -> BusyError:
    return BusyError(message, remedy=f"Try again in {BusyError.RETRY_AFTER_S} seconds.")
