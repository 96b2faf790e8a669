"""The rank of the hottest changed function by a hardware counter."""

from __future__ import annotations

from datamill.selection.indicators.evidence import Evidence, Reading, rank_changed

#: Counters in the order in which one is taken.
COUNTERS = ("cycles", "branches", "cache-misses")


def rank_by_counter(evidence: Evidence) -> Reading | None:
    """Return the highest rank by the first counter that the profile has; None without any.

    Source: thesis 2015, Table 6.2.
    """
    for counter in COUNTERS:
        reading = rank_changed(evidence, counter)
        if reading is not None:
            return reading
    return None
