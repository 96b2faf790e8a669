"""The largest change of the length of a function that the benchmark reached."""

from __future__ import annotations

from datamill.selection.indicators.evidence import Evidence, Reading, measure_length_change, read_top


def measure_top_reached_length_change(evidence: Evidence) -> Reading:
    """Return the largest change in % of the length of a changed function that was reached.

    Source: thesis 2015, Table 6.2.
    """
    reached = evidence.profile.reached
    return read_top(
        (old.name, measure_length_change(old, new)) for old, new in evidence.changed if old.name in reached
    )
