"""How many functions that the benchmark reached were deleted."""

from __future__ import annotations

from datamill.selection.indicators.evidence import Evidence, Reading


def count_reached_deleted(evidence: Evidence) -> Reading:
    """Count the deleted functions that the benchmark reached in the old version (thesis 2015, Table 6.2)."""
    reached = evidence.profile.reached
    names = tuple(function.name for function in evidence.deleted if function.name in reached)
    return Reading(float(len(names)), names)
