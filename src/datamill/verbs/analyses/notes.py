"""What a reader must know of a response besides its analysis."""

from __future__ import annotations

from datamill.analysis.model_data.observations import Observations
from datamill.report.tests.statement import ResponseNotes


def describe_response(observations: Observations) -> ResponseNotes:
    """Name, unit, and what became of some of its rows."""
    return ResponseNotes(
        observations.response,
        observations.unit,
        observations.excluded,
        observations.averaged,
        observations.partly_valid,
        observations.averaged_builds,
        observations.put_aside,
    )
