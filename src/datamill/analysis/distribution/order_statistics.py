"""Intervals of quantiles between two of the ordered observations."""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.special import bdtr, bdtrc, ndtri


# Most groups of a table are of one size or a few.
@lru_cache(maxsize=1024)
def find_ranks(quantile: float, n: int, confidence: float) -> tuple[int, int]:
    """Ranks, from 1, of the ordered observations between which a quantile lies, whatever the distribution.

    With at least this confidence; the lower is 0, or the upper n + 1, where n is too small.
    """
    tail = (1 - confidence) / 2
    # The normal approximation is near; from there the binomial distribution itself decides.
    reach = -float(ndtri(tail)) * math.sqrt(n * quantile * (1 - quantile))
    low = min(max(0, round(n * quantile - reach)), n)
    while bdtr(low, n, quantile) < tail:
        low += 1
    while low > 0 and bdtr(low - 1, n, quantile) >= tail:
        low -= 1
    high = min(max(0, round(n * quantile + reach)), n)
    while bdtrc(high, n, quantile) > tail:
        high += 1
    while high > 0 and bdtrc(high - 1, n, quantile) <= tail:
        high -= 1
    return low, high + 1
