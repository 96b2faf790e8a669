"""Quantiles that can be asked for, and their intervals between two of the ordered observations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from scipy.special import bdtr, bdtrc, ndtri

from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_given


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


def check_quantiles(quantiles: Sequence[float]) -> list[float]:
    """Return the quantiles in ascending order, each once.

    Raises:
        InputError: there is none, or one is not between 0 and 1.
    """
    asked = sorted({float(quantile) for quantile in quantiles})
    if not asked:
        raise InputError("no quantile is asked for", remedy="Name at least one, such as 0.5.")
    for quantile in asked:
        if not 0 < quantile < 1:
            raise InputError(
                f"the quantile {format_given(quantile)} is not between 0 and 1",
                remedy="Write the 99th percentile as 0.99; 0 and 1 are the extremes, not quantiles.",
            )
    return asked


def count_needed(quantile: float, confidence: float) -> int:
    """Observations that a distribution-free interval of a quantile needs, so that both ends exist."""
    return math.ceil(math.log((1 - confidence) / 2) / math.log(max(quantile, 1 - quantile)))
