"""A dimension of hardware as JSON, with every digit of a double."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from datamill.analysis.hardware.dimension import DimensionAnalysis
from datamill.report.tests.statement import ResponseNotes


def spell_dimension(found: DimensionAnalysis, notes: ResponseNotes) -> dict[str, Any]:
    """Write an analysis of a dimension as values of JSON.

    Keys: `response`, `unit`, `dimension`, `machine` (the column), `scale` ("log": estimates and intervals
    are natural logarithms of means and ratios), `n`, `confidence`, `alpha`, `told_apart`, `combinations`,
    `possible`, `excluded`, `put_aside` (rows by what they are), `machines` (machine, level, n, value in the
    unit), `main` (levels, pairs, average, df, f, p, deviation; intervals with estimate, low, high or null),
    `main_p` (Holm), `factors` (factor, level, base, effect as `main`, average_p and interaction_p by Holm).
    """
    content = asdict(found)
    del content["warnings"]
    return {**content, "excluded": notes.excluded, "put_aside": dict(notes.put_aside)}
