"""The largest change of any function's length."""

from __future__ import annotations

from datamill.selection.indicators.evidence import Evidence, Reading, measure_length_change, read_top


def measure_top_length_change(evidence: Evidence) -> Reading:
    """Return the largest change of a changed function's length in % (thesis 2015, Table 6.2)."""
    return read_top((old.name, measure_length_change(old, new)) for old, new in evidence.changed)
