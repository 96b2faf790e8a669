"""How many requests of users the coordinator works on at once, by how much they may take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import User

from datamill.service.bounded_work.departures import find_departure
from datamill.service.bounded_work.turns import Turns, WorkLimits

#: Memory of the machine for each request that is worked on: what one may take, and as much for all else.
_BYTES_A_REQUEST = 2 << 30


def count_working() -> int:
    """Return how many requests are worked on at once: 2 to 8, by the memory that there is."""
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(2, min(8, memory_bytes // _BYTES_A_REQUEST))


#: Each answer is passed on by the interpreter that leases trials, which takes it some 10 ms.
_BETWEEN_LOOKS_S = 0.2
#: Texts that are read, plans that are looked at, archives. Who waits has a turn at the front door: most of
#: those are left to requests that are answered at once.
_LOOKS = Turns(
    WorkLimits(count_working(), 2, waiting=8, waiting_each=3, longest_wait_s=60.0, between_s=_BETWEEN_LOOKS_S)
)
#: Experiments that are entered, with all their trials.
_ENTRIES = Turns(WorkLimits(2, 1, waiting=3, waiting_each=1, longest_wait_s=300.0))


@contextmanager
def taking_turn(user: User, *, entering: bool = False) -> Iterator[None]:
    """Wait until a user's request may be worked on, and work on it; `entering` an experiment takes longer.

    Raises:
        BusyError: when too many wait already.
        GoneError: when the client leaves meanwhile.
    """
    with (_ENTRIES if entering else _LOOKS).take(user.username, find_departure()):
        yield
