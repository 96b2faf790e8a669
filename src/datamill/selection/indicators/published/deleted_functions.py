"""How many functions were deleted."""

from __future__ import annotations

from datamill.selection.indicators.evidence import Evidence, Reading


def count_deleted(evidence: Evidence) -> Reading:
    """Count the functions that only the old version has (thesis 2015, Table 6.2)."""
    return Reading(float(len(evidence.deleted)), tuple(function.name for function in evidence.deleted))
