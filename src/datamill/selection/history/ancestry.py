"""Which earlier version a commit is compared with."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A commit with the number of steps to parents that lead to it."""

    commit: str
    hops: int


def find_closest(
    commit: str, known: Collection[str], parents_of: Callable[[str], Sequence[str]]
) -> Ancestor | None:
    """Return the known commit that the fewest steps to parents lead to, the commit itself left out.

    Among equally close ones the first parent's comes first. `parents_of` is asked as far as necessary; for a
    commit at which a shallow clone ends it returns none. None where no known commit is an ancestor.
    """
    waiting = deque([(commit, 0)])
    seen = {commit}
    while waiting:
        at, hops = waiting.popleft()
        if at in known and at != commit:
            return Ancestor(at, hops)
        for parent in parents_of(at):
            if parent not in seen:
                seen.add(parent)
                waiting.append((parent, hops + 1))
    return None
