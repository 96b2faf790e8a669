"""How often somebody may guess: passwords, keys and tokens that are wrong are counted for a while."""

from __future__ import annotations

import os
import threading
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.contrib.auth.forms import UsernameField

from datamill.service.front_door.visitors.addresses import name_origin

#: Wrong passwords that are taken within the time below, from one origin: for one account, and for all.
MOST_FOR_ACCOUNT = 8
MOST_FROM_ORIGIN = 40
#: Keys and tokens that nobody has are taken so often from one origin; good ones always.
MOST_UNKNOWN = 100
FORGET_S = 600.0
#: Names and origins that are remembered: a visitor with more addresses than that is not held up by this.
_MOST_REMEMBERED = 20_000
_MOST_NAME = 150


def name_account(typed: str) -> str:
    """Return what all spellings have in common that the sign-in takes for one account, and some more.

    First as the form does that looks the account up (no spaces around it, NFKC), then without regard to small
    and capital letters.
    """
    looked_up = read_name(typed.strip()[: 4 * _MOST_NAME]).strip()
    folded = unicodedata.normalize("NFKC", looked_up.casefold()).strip()
    return folded.replace("\0", "")[:_MOST_NAME]


def read_name(typed: str) -> str:
    """Return the name of the account that the sign-in looks up for what was typed."""
    return str(UsernameField().to_python(typed))


class GuessLimit:
    """Counts wrong guesses of the last minutes, in the memory of the one process that serves.

    A guess for an account counts for account and origin together: nobody can lock an account's owner out from
    elsewhere.

    Args:
        most_for_account: guesses for one account from one origin.
        most_from_origin: guesses from one origin.
        clock_s: a clock.
    """

    def __init__(
        self,
        most_for_account: int,
        most_from_origin: int,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most_for_account = most_for_account
        self._most_from_origin = most_from_origin
        self._clock_s = clock_s
        self._guesses: OrderedDict[tuple[str, str], list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, address: str, account: str = "") -> float:
        """Count a guess before it is looked at, so that many at once are not more than one after the other.

        Args:
            address: from where it comes.
            account: the account as it was typed, empty where a guess is for none.

        Returns:
            0, or for how many seconds such a guess is not looked at; then it does not count.
        """
        now_s = self._clock_s()
        wait_s = 0.0
        with self._lock:
            known = {}
            for key, most in self._list_keys(address, account):
                times = [then_s for then_s in self._guesses.get(key, ()) if now_s - then_s < FORGET_S]
                known[key] = times
                if len(times) >= most:
                    wait_s = max(wait_s, times[-most] + FORGET_S - now_s)
            if wait_s <= 0.0:
                for key, times in known.items():
                    self._guesses[key] = [*times, now_s]
                    self._guesses.move_to_end(key)
            while len(self._guesses) > _MOST_REMEMBERED:
                self._guesses.popitem(last=False)
        return wait_s

    def is_full(self, address: str, account: str = "") -> bool:
        """Tell whether the next guess would have to wait."""
        now_s = self._clock_s()
        with self._lock:
            return any(
                sum(now_s - then_s < FORGET_S for then_s in self._guesses.get(key, ())) >= most
                for key, most in self._list_keys(address, account)
            )

    def forget(self, address: str, account: str = "") -> None:
        """Take back the guess that was right, and forget the wrong ones for that account."""
        self.take_back(address, account)
        with self._lock:
            for key, _ in self._list_keys(address, account):
                if key[0]:
                    self._guesses.pop(key, None)

    def take_back(self, address: str, account: str = "") -> None:
        """Let a guess that nobody looked at not have been."""
        with self._lock:
            for key, _ in self._list_keys(address, account):
                if times := self._guesses.get(key):
                    times.pop()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._guesses.clear()

    def _list_keys(self, address: str, account: str) -> tuple[tuple[tuple[str, str], int], ...]:
        origin = name_origin(address)
        from_origin = (("", origin), self._most_from_origin)
        # An account without a name has a place of its own beside that of all accounts.
        name = f"={name_account(account)}"
        return (((name, origin), self._most_for_account), from_origin) if account else (from_origin,)


#: Passwords of accounts, wherever they are asked for.
PASSWORDS = GuessLimit(MOST_FOR_ACCOUNT, MOST_FROM_ORIGIN)
#: Keys for the API and tokens of machines that join.
SECRETS = GuessLimit(MOST_UNKNOWN, MOST_UNKNOWN)


@dataclass
class HashingQueue:
    """Lets few passwords be hashed at a time: each costs a processor some tenths of a second, on purpose.

    Args:
        most: passwords that are hashed at once.
        most_waiting: further ones that wait for their turn.
        patience_s: how long they wait.
    """

    most: int
    most_waiting: int
    patience_s: float

    def __post_init__(self) -> None:
        """Begin with nobody in the queue."""
        self._turns = threading.BoundedSemaphore(self.most)
        self._places = threading.BoundedSemaphore(self.most + self.most_waiting)

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Wait for a turn and hold it; yields whether there was one."""
        if not self._places.acquire(blocking=False):
            yield False
            return
        try:
            if not self._turns.acquire(timeout=self.patience_s):
                yield False
                return
            try:
                yield True
            finally:
                self._turns.release()
        finally:
            self._places.release()


#: Half of the processors at most; those who wait longer are told to come again.
HASHING = HashingQueue(most=max(1, (os.cpu_count() or 1) // 2), most_waiting=8, patience_s=10.0)
