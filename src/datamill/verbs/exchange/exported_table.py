"""The table that is exported: read with its types, its responses chosen, its design points summarized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.report.tables.table import Table
from datamill.results.bundles.opening import open_bundle
from datamill.results.exporting.types import restore_plain_types, restore_tidy_types
from datamill.results.tables.row_validity import is_tidy
from datamill.results.tables.table_files import is_text_table, read_table_file


@dataclass(frozen=True, slots=True)
class ExportedTable:
    """A table with its types, its name for messages, and whether it is tidy."""

    rows: pl.DataFrame
    source: str
    is_tidy: bool


def read_exported_table(data: Path) -> ExportedTable:
    """Read the folder of a bundle, or a table file.

    Raises:
        InputError: when there is no such table, or it has no rows.
    """
    if data.is_dir():
        bundle = open_bundle(data)
        table, file = bundle.read_table(), bundle.table_file
    else:
        table, file = read_table_file(data), data
    tidy = is_tidy(table)
    if tidy:
        table = restore_tidy_types(table, source=str(file))
    elif is_text_table(file):
        table = restore_plain_types(table)
    if table.height == 0:
        raise InputError("the table has no rows", where=str(file), remedy="Give a table with observations.")
    return ExportedTable(table, str(file), tidy)


def choose_responses(table: ExportedTable, responses: Sequence[str]) -> ExportedTable:
    """Return the rows of some responses.

    Raises:
        InputError: when the table is not tidy, or has no such response.
    """
    if not table.is_tidy:
        raise InputError(
            f"{argument('response', verb='export')} chooses rows of a tidy table, and this table is not "
            "tidy: it has no columns trial_id, response, value and valid",
            where=table.source,
            remedy=f"Leave {argument('response', verb='export')} out: all rows are written.",
        )
    known = table.rows["response"].unique(maintain_order=True).drop_nulls().to_list()
    for name in responses:
        if name not in known:
            raise InputError(
                f'there is no response "{name}"',
                where=table.source,
                remedy=f"The responses are: {', '.join(known)}.",
            )
    return replace(table, rows=table.rows.filter(pl.col("response").is_in(list(responses))))


def tabulate_points_of_responses(
    table: ExportedTable, confidence: float, quantiles: Sequence[float]
) -> list[Table]:
    """A table of means, and of quantiles where these are wanted, for each response that has a valid row.

    Raises:
        InputError: when no row is valid.
    """
    # Imported late: statistics take half a second to load, which rows do not need.
    from datamill.analysis.distribution.points import summarize_points
    from datamill.report.tables.point_table import tabulate_points

    rows, source = table.rows, table.source
    usable = rows.filter("valid")["response"].unique(maintain_order=True).to_list()
    if not usable:
        raise InputError("no row is valid", where=source, remedy="The column exclusion says why.")
    return [
        tabulate_points(
            summarize_points(rows, name, confidence=confidence, quantiles=quantiles, source=source)
        )
        for name in usable
    ]
