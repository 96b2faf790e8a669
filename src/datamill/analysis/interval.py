"""An estimate with its interval, and a ratio with its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence interval, in the response's unit unless said otherwise."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two means with its confidence set by Fieller's theorem.

    `low` and `high` bound the set; both are None when it is unbounded, which `note` puts in words.
    """

    estimate: float
    low: float | None
    high: float | None
    note: str
