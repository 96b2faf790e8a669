"""Which levels a design contains, when the experiment asks for a share of them."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction


def rank_by_seed(seed: int, *names: str) -> bytes:
    """Return the sort key of a named thing under a seed: the same on every machine and in every version.

    Sorting by it draws a uniformly random order, as far as SHA-256 is random.
    """
    return hashlib.sha256("\x1f".join((str(seed), *names)).encode()).digest()


def derive_seed(seed: int, *names: str) -> int:
    """Return the seed of something named, below 2^48, drawn from the experiment's."""
    return int.from_bytes(rank_by_seed(seed, *names)[:6], "big")


def choose_levels(factor: str, available: tuple[str, ...], coverage: float, seed: int) -> tuple[str, ...]:
    """Return a random subset of levels that covers at least a share of those available.

    A share of 0 fixes one randomly chosen level (ICPE 2013 section 3.2). The chosen levels keep
    their meaningful order.
    """
    # A fraction of the decimal text: 0.07 * 100 must not become 8 levels by rounding up 7.000000000000001.
    count = max(1, math.ceil(Fraction(str(coverage)) * len(available)))
    ranked = sorted(available, key=lambda level: rank_by_seed(seed, "level", factor, level))
    chosen = set(ranked[:count])
    return tuple(level for level in available if level in chosen)
