"""Who is connected: counted by origin, and who goes first when there is no room."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any

from datamill.service.front_door.visitors.bounds import DoorBounds

#: A request of somebody unknown is not given up for another before it has lasted so long.
_LEAST_ASKING_S = 5.0


class Stage(IntEnum):
    """What a connection does."""

    ARRIVING = 0
    IDLE = 1
    ASKING = 2
    LEAVING = 3


class Visitor:
    """A connection: from where, since when it does what it does, and how it is ended.

    Args:
        origin: from where it comes, as it is counted.
        now_s: a monotonic time, in seconds.
    """

    __slots__ = ("close", "is_gone", "is_member", "origin", "rank", "since_s", "stage")

    def __init__(self, origin: str, now_s: float) -> None:
        self.origin = origin
        self.stage = Stage.ARRIVING
        self.since_s = now_s
        #: Whether someone came over it who is logged in or has a key; said by whatever thread knows.
        self.is_member = False
        self.is_gone = False
        self.rank = 0
        #: Ends it at once.
        self.close: Callable[[], None] = lambda: None

    def find_rank(self) -> int:
        """Return how dear it is: those that ask nothing go first, members last; 3 stays."""
        return (2 if self.is_member else 0) + (self.stage == Stage.ASKING)


class _Queues:
    """Visitors by rank, those that do what they do for longest first."""

    def __init__(self) -> None:
        self._ranks: tuple[OrderedDict[Visitor, None], ...] = tuple(OrderedDict() for _ in range(4))

    def __len__(self) -> int:
        return sum(map(len, self._ranks))

    def __iter__(self) -> Iterator[Visitor]:
        for queue in self._ranks:
            yield from queue

    def put(self, visitor: Visitor, rank: int) -> None:
        """Put somebody last."""
        self._ranks[rank][visitor] = None

    def drop(self, visitor: Visitor) -> None:
        """Take somebody out."""
        self._ranks[visitor.rank].pop(visitor, None)

    def find_dispensable(self, now_s: float) -> Visitor | None:
        """Return who goes first, None when nobody has to."""
        for rank, queue in enumerate(self._ranks[:3]):
            first = next(iter(queue), None)
            if first is not None and (rank != 1 or now_s - first.since_s >= _LEAST_ASKING_S):
                return first
        return None


class Visitors:
    """All connections; to be used in the event loop alone.

    Args:
        bounds: how many there may be.
        clock_s: a monotonic clock.
    """

    def __init__(self, bounds: DoorBounds, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.bounds = bounds
        self._clock_s = clock_s
        self._all = _Queues()
        self._by_origin: dict[str, _Queues] = {}
        #: New connections of the running second, by origin.
        self._new: dict[str, int] = {}
        self._second = 0
        #: How many were ended to make room, and how many were turned away.
        self.made_room = 0
        self.refused = 0

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._all)

    def __iter__(self) -> Iterator[Visitor]:
        """Return all, as they are now."""
        return iter(list(self._all))

    def count_origin(self, origin: str) -> int:
        """Return how many come from an origin."""
        return len(self._by_origin.get(origin, ()))

    def admit(self, origin: str) -> Visitor | None:
        """Return a new connection from somewhere; None where there is no room for it.

        Where there is no room, one that asks nothing has to go: of the same origin when that has too many.
        """
        now_s = self._clock_s()
        if not self._is_calm(origin, now_s):
            self.refused += 1
            return None
        queues = self._by_origin.get(origin)
        full = queues if queues is not None and len(queues) >= self.bounds.most_of(origin) else None
        if full is None and len(self._all) >= self.bounds.most:
            full = self._all
        if full is not None and not self._make_room(full, now_s):
            self.refused += 1
            return None
        visitor = Visitor(origin, now_s)
        self._all.put(visitor, 0)
        self._by_origin.setdefault(origin, _Queues()).put(visitor, 0)
        return visitor

    def enter(self, visitor: Visitor, stage: Stage) -> None:
        """Note that a connection does something else from now on."""
        if visitor.is_gone:
            return
        visitor.stage, visitor.since_s = stage, self._clock_s()
        self._file(visitor)

    def leave(self, visitor: Visitor) -> None:
        """Note that a connection ended."""
        if visitor.is_gone:
            return
        visitor.is_gone = True
        self._all.drop(visitor)
        queues = self._by_origin[visitor.origin]
        queues.drop(visitor)
        if not len(queues):
            del self._by_origin[visitor.origin]

    def evict(self, visitor: Visitor) -> None:
        """End a connection."""
        self.leave(visitor)
        visitor.close()

    def evict_some(self, count: int) -> int:
        """End connections that ask nothing, where something else has run out; return how many."""
        now_s = self._clock_s()
        return sum(self._make_room(self._all, now_s) for _ in range(count))

    def _is_calm(self, origin: str, now_s: float) -> bool:
        if int(now_s) != self._second:
            self._second = int(now_s)
            self._new.clear()
        count = self._new[origin] = self._new.get(origin, 0) + 1
        return count <= self.bounds.new_a_second or self.bounds.is_near(origin)

    def _make_room(self, queues: _Queues, now_s: float) -> bool:
        while (first := queues.find_dispensable(now_s)) is not None:
            if first.find_rank() == first.rank:
                self.evict(first)
                self.made_room += 1
                return True
            # It became known as a member's meanwhile.
            self._file(first)
        return False

    def _file(self, visitor: Visitor) -> None:
        rank = visitor.find_rank()
        for queues in (self._all, self._by_origin[visitor.origin]):
            queues.drop(visitor)
            queues.put(visitor, rank)
        visitor.rank = rank


def mark_member(scope: Any) -> None:
    """Note that the connection of a request is that of somebody who is logged in or has a key.

    Args:
        scope: of the request, as ASGI has it; without a connection of ours nothing happens.
    """
    visitor = scope.get("state", {}).get("visitor") if scope else None
    if visitor is not None:
        visitor.is_member = True
