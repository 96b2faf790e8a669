"""Means by level and the changes between them, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.analysis.level_changes import LevelChange
from datamill.analysis.level_means import LevelMean
from datamill.report.numbers import name_confidence
from datamill.report.page.by_factor import Wording
from datamill.report.page.level_table import tabulate_changes
from datamill.report.verbs.layout import lay_out_table, wrap

#: Levels that a terminal shows; JSON and the report have all.
_MOST_ROWS = 40


def format_changes(means: Sequence[LevelMean], changes: Sequence[LevelChange], wording: Wording) -> list[str]:
    """A row for each level: its mean, and the change against the level that it is compared with."""
    table = tabulate_changes(means, changes, wording)
    unit = f" ({wording.scale.unit})" if wording.scale.unit else ""
    rows = [table.headers, *table.rows[:_MOST_ROWS]]
    lines = [
        f"Means of {wording.response} by level{unit}, with {name_confidence(wording.confidence)} intervals:",
        *lay_out_table(rows, left=table.text_columns),
    ]
    if len(table.rows) > _MOST_ROWS:
        lines += wrap(f"{len(table.rows) - _MOST_ROWS} further rows are left out; --json has all.")
    return lines
