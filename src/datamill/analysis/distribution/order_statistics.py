"""Intervals of quantiles between two of the ordered observations."""

from __future__ import annotations

from functools import lru_cache

from scipy.stats import binom


# Most groups of a table are of one size or a few.
@lru_cache(maxsize=1024)
def find_ranks(quantile: float, n: int, confidence: float) -> tuple[int, int]:
    """Ranks, from 1, of the ordered observations between which a quantile lies, whatever the distribution.

    With at least this confidence; the lower is 0, or the upper n + 1, where n is too small.
    """
    tail = (1 - confidence) / 2
    return int(binom.ppf(tail, n, quantile)), int(binom.isf(tail, n, quantile)) + 1
