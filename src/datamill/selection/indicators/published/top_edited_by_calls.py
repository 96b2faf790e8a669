"""The rank of the most called function whose length changed by a tenth."""

from __future__ import annotations

from datamill.selection.indicators.evidence import Evidence, Reading, rank_changed

#: Least change of a function's length in %.
LEAST_CHANGE = 10.0


def rank_edited_by_calls(evidence: Evidence) -> Reading | None:
    """Return the highest rank by calls among functions whose length changed by 10% or more.

    Source: thesis 2015, Table 6.2.
    """
    return rank_changed(evidence, "calls", LEAST_CHANGE)
