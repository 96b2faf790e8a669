"""Intervals as JSON has them, which knows no infinity."""

from __future__ import annotations

import math

from datamill.analysis.interval import Interval


def spell_interval(value: Interval) -> dict[str, float | None]:
    """Estimate and ends of an interval; an end that does not exist is null."""
    named = {"estimate": value.estimate, "low": value.low, "high": value.high}
    return {name: number if math.isfinite(number) else None for name, number in named.items()}


def spell_known(value: Interval | None) -> dict[str, float | None] | None:
    """As `spell_interval`; null where there is no estimate."""
    return None if value is None else spell_interval(value)
