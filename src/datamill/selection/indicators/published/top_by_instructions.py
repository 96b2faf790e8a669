"""The rank of the hottest changed function by executed instructions."""

from __future__ import annotations

from datamill.selection.indicators.evidence import Evidence, Reading, rank_changed


def rank_by_instructions(evidence: Evidence) -> Reading | None:
    """Return the highest rank by executed instructions among changed functions (thesis 2015, Table 6.2)."""
    return rank_changed(evidence, "instructions")
