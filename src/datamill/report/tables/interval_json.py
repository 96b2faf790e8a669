"""Intervals as JSON has them."""

from __future__ import annotations

from datamill.analysis.interval import Interval


def spell_interval(value: Interval) -> dict[str, float]:
    """Estimate and ends of an interval."""
    return {"estimate": value.estimate, "low": value.low, "high": value.high}


def spell_known(value: Interval | None) -> dict[str, float] | None:
    """As `spell_interval`; null where there is no estimate."""
    return None if value is None else spell_interval(value)
