"""The rank of the most called changed function."""

from __future__ import annotations

from datamill.selection.indicators.evidence import Evidence, Reading, rank_changed


def rank_by_calls(evidence: Evidence) -> Reading | None:
    """Return the highest rank by calls among changed functions (thesis 2015, Table 6.2)."""
    return rank_changed(evidence, "calls")
