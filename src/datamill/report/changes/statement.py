"""Means by level and the changes between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from datamill.analysis.levels.level_changes import LevelChange
from datamill.analysis.levels.level_means import LevelMean
from datamill.analysis.linear.linear_model import LinearModel
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import format_figures, format_level
from datamill.report.changes.by_factor import Wording
from datamill.report.changes.table import tabulate_changes
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import build_table
from datamill.report.words.scales import round_interval

#: Levels that a terminal shows; JSON and the report have all.
_MOST_ROWS = 40


def state_changes(means: Sequence[LevelMean], changes: Sequence[LevelChange], wording: Wording) -> list[Part]:
    """A row for each level: its mean, and the change against the level that it is compared with."""
    table = tabulate_changes(means, changes, wording)
    unit = f" ({wording.scale.unit})" if wording.scale.unit else ""
    level = format_level(wording.confidence)
    parts: list[Part] = [
        Heading(f"Means of {wording.response} by level{unit}, with {level} intervals:"),
        replace(table, rows=table.rows[:_MOST_ROWS]),
    ]
    if len(table.rows) > _MOST_ROWS:
        left_out = len(table.rows) - _MOST_ROWS
        parts.append(Paragraph(tell(f"{left_out} further rows are left out; {argument('json')} has all.")))
    return parts


def state_adjusted_means(model: LinearModel, response: str, unit: str) -> list[Part]:
    """A row for each level with the model's own mean, where means of observations are no answer."""
    rows: list[tuple[str, ...]] = []
    for row in model.effects_of_interest:
        for at, mean in enumerate(row.means):
            shown = round_interval(mean.value).phrase()
            rows.append(("" if at else row.term.name, mean.levels[0], shown))
    if not rows:
        return []
    where = ", ".join(f"{item.name} = {format_figures(item.mean, 6)}" for item in model.covariates)
    text = (
        f"Adjusted means of {response} by level{f' ({unit})' if unit else ''}, with "
        f"{format_level(model.confidence)} intervals{f', at {where}' if where else ''}; levels of other "
        "factors have the same weight:"
    )
    parts: list[Part] = [
        BLANK,
        Paragraph(text),
        build_table(("factor", "level", "mean"), rows[:_MOST_ROWS], 2),
    ]
    if len(rows) > _MOST_ROWS:
        parts.append(
            Paragraph(
                tell(f"{len(rows) - _MOST_ROWS} further rows are left out; {argument('json')} has all.")
            )
        )
    return parts
