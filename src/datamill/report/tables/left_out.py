"""Rows of a response that an answer does not use, in words."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.experiment.messages.numbers import format_count
from datamill.report.tables.statement import Paragraph, Part


def list_left_out(excluded: int, put_aside: Sequence[tuple[str, int]]) -> list[Part]:
    """How many rows were judged invalid, and how many are put aside because that is the plan."""
    parts: list[Part] = []
    if excluded:
        parts.append(Paragraph(f"Excluded: {format_count(excluded)} invalid rows of this response."))
    if put_aside:
        kinds = ", ".join(f"{name} {format_count(count)}" for name, count in put_aside)
        total = format_count(sum(count for _, count in put_aside))
        parts.append(Paragraph(f"Put aside: {total} rows of this response ({kinds}).", "  "))
    return parts
