"""Probabilities, and from which one on a benchmark runs."""

from __future__ import annotations

import math

#: A benchmark runs where a change is at least so likely: missing one costs as much as 19 needless runs.
LEAST_PROBABILITY = 0.05


def to_probability(logit: float) -> float:
    """Return the probability of these log-odds."""
    if logit >= 0:
        return 1 / (1 + math.exp(-min(logit, 700.0)))
    odds = math.exp(max(logit, -700.0))
    return odds / (1 + odds)


def choose_least(miss_cost: float) -> float:
    """Return the probability from which on running costs less than missing a change would.

    `miss_cost` is what a missed change costs, in executions of the benchmark. Running costs 1 where nothing
    changed, skipping costs `miss_cost` where something did: both are equal at 1 / (1 + cost).
    """
    return 1 / (1 + miss_cost)
