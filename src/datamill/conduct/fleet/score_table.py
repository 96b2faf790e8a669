"""Scores of a fleet's machines as a table that the verbs about platforms read."""

from __future__ import annotations

import csv
import io

from msgspec.structs import astuple

from datamill.protocol.api.machines import MachineScore, ScoreList
from datamill.results.tables.csv_files.formula_cells import mark_text


def spell_scores(found: ScoreList) -> str:
    """Write scores as CSV: a row for each, columns named as the fields of a score."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(MachineScore.__struct_fields__)
    for score in found.scores:
        writer.writerow(mark_text(cell) if isinstance(cell, str) else cell for cell in astuple(score))
    return text.getvalue()
