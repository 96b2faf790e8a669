"""How many may look on at a time: each live view holds a connection for as long as it likes."""

from __future__ import annotations

import threading
from collections import Counter

from django.conf import settings


class FullError(Exception):
    """There is no place for another viewer; the message says whose limit it is."""


class Place:
    """A place of a viewer. It is given back by `leave`, or when nobody knows of it any more."""

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
    """The places of all viewers, so many in all and so many for each user."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_user: Counter[int] = Counter()
        self._all = 0

    @property
    def taken(self) -> int:
        """How many look on."""
        return self._all

    def take(self, user_id: int) -> Place:
        """Return a place.

        Raises:
            FullError: when the user, or all together, have as many as there may be.
        """
        with self._lock:
            if self._by_user[user_id] >= settings.MOST_VIEWERS_A_USER:
                raise FullError(
                    f"you have {settings.MOST_VIEWERS_A_USER} live views open, and may have no more"
                )
            if self._all >= settings.MOST_VIEWERS:
                raise FullError(f"{settings.MOST_VIEWERS} live views are open, and there may be no more")
            self._by_user[user_id] += 1
            self._all += 1
        return Place(self, user_id)

    def give_back(self, user_id: int) -> None:
        """Note that a viewer left."""
        with self._lock:
            self._all -= 1
            self._by_user[user_id] -= 1
            if not self._by_user[user_id]:
                del self._by_user[user_id]


PLACES = Places()
