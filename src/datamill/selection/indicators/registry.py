"""The indicators by name, in the order of the thesis' table."""

from __future__ import annotations

from datamill.selection.indicators.evidence import Evidence, Indicator, Reading
from datamill.selection.indicators.published.deleted_functions import count_deleted
from datamill.selection.indicators.published.new_functions import count_new
from datamill.selection.indicators.published.reached_deleted import count_reached_deleted
from datamill.selection.indicators.published.top_by_calls import rank_by_calls
from datamill.selection.indicators.published.top_by_counter import rank_by_counter
from datamill.selection.indicators.published.top_by_instructions import rank_by_instructions
from datamill.selection.indicators.published.top_edited_by_calls import rank_edited_by_calls
from datamill.selection.indicators.published.top_length_change import measure_top_length_change
from datamill.selection.indicators.published.top_reached_length_change import (
    measure_top_reached_length_change,
)

#: The nine of the thesis of 2015, Table 6.2.
INDICATORS = (
    Indicator("new_functions", "functions that are new", count_new),
    Indicator("functions_deleted", "functions that were deleted", count_deleted),
    Indicator(
        "reached_deleted", "functions that the benchmark reached and that were deleted", count_reached_deleted
    ),
    Indicator(
        "top_by_instructions",
        "highest rank by executed instructions among changed functions",
        rank_by_instructions,
    ),
    Indicator("top_by_calls", "highest rank by calls among changed functions", rank_by_calls),
    Indicator(
        "top_edited_by_calls",
        "highest rank by calls among functions whose length changed by 10% or more",
        rank_edited_by_calls,
    ),
    Indicator("top_length_change", "largest change of a function's length in %", measure_top_length_change),
    Indicator(
        "top_reached_length_change",
        "largest change in % of the length of a function that the benchmark reached",
        measure_top_reached_length_change,
    ),
    Indicator(
        "top_by_counter", "highest rank by a hardware counter among changed functions", rank_by_counter
    ),
)


def read_indicators(evidence: Evidence) -> dict[str, Reading]:
    """Return what each indicator reads; those that the profile allows no reading of are left out."""
    readings = ((indicator.name, indicator.measure(evidence)) for indicator in INDICATORS)
    return {name: reading for name, reading in readings if reading is not None}
