"""How many functions are new."""

from __future__ import annotations

from datamill.selection.indicators.evidence import Evidence, Reading


def count_new(evidence: Evidence) -> Reading:
    """Count the functions that only the new version has (thesis 2015, Table 6.2)."""
    return Reading(float(len(evidence.new)), tuple(function.name for function in evidence.new))
