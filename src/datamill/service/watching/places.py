"""How many may look on, or take bundles home, at a time: each holds a connection for as long as it likes."""

from __future__ import annotations

import threading
from collections import Counter

from django.conf import settings


class FullError(Exception):
    """There is no place for another one; the message says whose limit it is."""


class Place:
    """A place of somebody. It is given back by `leave`, or when nobody knows of it any more."""

    def __init__(self, places: Places, user_id: int) -> None:
        self._places: Places | None = places
        self._user_id = user_id

    def leave(self) -> None:
        """Give the place back; once more does nothing."""
        places, self._places = self._places, None
        if places is not None:
            places.give_back(self._user_id)

    def __del__(self) -> None:
        # A connection may end before its first byte was asked for: then nothing of the stream ever ran.
        self.leave()


class Places:
    """The places of all, so many together and so many for each user.

    Args:
        what: what there are places for, as a user is told.
        most: name of the setting of how many there are.
        most_a_user: name of the setting of how many of them one user may have.
    """

    def __init__(self, what: str, most: str, most_a_user: str) -> None:
        self._what = what
        self._most = most
        self._most_a_user = most_a_user
        self._lock = threading.Lock()
        self._by_user: Counter[int] = Counter()
        self._all = 0

    @property
    def taken(self) -> int:
        """How many are taken."""
        return self._all

    def take(self, user_id: int) -> Place:
        """Return a place.

        Raises:
            FullError: when the user, or all together, have as many as there may be.
        """
        with self._lock:
            if self._by_user[user_id] >= getattr(settings, self._most_a_user):
                raise FullError(f"you have {self._by_user[user_id]} {self._what} open, and may have no more")
            if self._all >= getattr(settings, self._most):
                raise FullError(f"{self._all} {self._what} are open, and there may be no more")
            self._by_user[user_id] += 1
            self._all += 1
        return Place(self, user_id)

    def give_back(self, user_id: int) -> None:
        """Note that somebody left."""
        with self._lock:
            self._all -= 1
            self._by_user[user_id] -= 1
            if not self._by_user[user_id]:
                del self._by_user[user_id]


PLACES = Places("live views", "MOST_VIEWERS", "MOST_VIEWERS_A_USER")
BUNDLES = Places("bundles", "MOST_BUNDLES", "MOST_BUNDLES_A_USER")
