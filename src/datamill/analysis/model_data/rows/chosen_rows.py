"""The part of a table that a question is about: rows with some levels of some columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import polars as pl

from datamill.analysis.model_data.cells import order_levels
from datamill.experiment.errors import InputError
from datamill.experiment.messages.suggestions import suggest_name
from datamill.results.tables.table import CONTEXT_PREFIX

#: Columns, each with the levels that its rows may have.
Where: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
#: Levels that a message lists.
_MOST_LISTED = 20


def find_column(table: pl.DataFrame, name: str, source: str) -> str:
    """The column of this name; what tells of a trial's circumstances is found without its prefix, too.

    Raises:
        InputError: there is none; names those that there are.
    """
    for known in (name, f"{CONTEXT_PREFIX}{name}"):
        if known in table.columns:
            return known
    names = [column.removeprefix(CONTEXT_PREFIX) for column in table.columns]
    raise InputError(
        f'there is no column "{name}"',
        where=source,
        remedy=f"{suggest_name(name, names)} The columns are: {', '.join(names)}.",
    )


def list_labels(
    table: pl.DataFrame, column: str, levels: Mapping[str, Sequence[str]] | None = None
) -> tuple[str, ...]:
    """The levels of a column that rows have, in the order of `levels` where given, else as people sort."""
    found = table[column].drop_nulls().unique().cast(pl.String).str.strip_chars()
    labels = [label for label in found.unique().to_list() if label]
    known = (levels or {}).get(column, ())
    ordered = [level for level in known if level in labels]
    return (*ordered, *order_levels(label for label in labels if label not in ordered))


def choose_rows(table: pl.DataFrame, where: Where, source: str) -> pl.DataFrame:
    """Return the rows of a table whose levels are among those of `where`, for every column it names.

    Raises:
        InputError: there is no such column or level, or no row has all of them together.
    """
    chosen = table
    for name, wanted in where:
        column = find_column(table, name, source)
        labels = list_labels(table, column)
        known = {level: _match_label(level, labels) for level in wanted}
        if None in known.values():
            unknown = next(level for level, label in known.items() if label is None)
            shown = ", ".join(labels[:_MOST_LISTED])
            more = f" and {len(labels) - _MOST_LISTED} more" if len(labels) > _MOST_LISTED else ""
            near = suggest_name(unknown, labels)
            raise InputError(
                f'no row has {name} "{unknown}"',
                where=source,
                remedy=f"{f'{near} ' if near.startswith('Did') else ''}Its levels are: {shown}{more}.",
            )
        texts = pl.col(column).cast(pl.String).str.strip_chars()
        chosen = chosen.filter(texts.is_in([label for label in known.values() if label is not None]))
    if where and chosen.height == 0:
        asked = " and ".join(f"{name}={','.join(levels)}" for name, levels in where)
        raise InputError(
            f"no row has {asked} together", where=source, remedy="Choose levels that were measured together."
        )
    return chosen


def list_single_levels(where: Where) -> tuple[str, ...]:
    """The columns of which only one level is left, which no longer explain anything."""
    return tuple(name for name, levels in where if len(set(levels)) == 1)


def _match_label(level: str, labels: Sequence[str]) -> str | None:
    """The label that a level means: the same text, else the same number (8 and 8.0)."""
    if level.strip() in labels:
        return level.strip()
    try:
        number = float(level)
    except ValueError:
        return None
    for label in labels:
        try:
            if float(label) == number:
                return label
        except ValueError:
            continue
    return None
