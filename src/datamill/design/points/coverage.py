"""Which levels a design contains, when the experiment asks for a share of them."""

from __future__ import annotations

import math
from fractions import Fraction

from datamill.design.seeds import rank_by_seed


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
