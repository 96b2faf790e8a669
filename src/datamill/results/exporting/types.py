"""Types of a table's columns, which a CSV file does not keep."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.results.tables.table import CONTEXT_PREFIX, TABLE_SCHEMA
from datamill.results.tables.table_files import is_text_table

_ITERATIONS = f"{CONTEXT_PREFIX}iterations"
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
#: Numbers that a number's type would change: `007`, and whole ones of too many digits.
_NOT_KEPT = r"^[+-]?(0[0-9]|[0-9]{19,}$)"


def restore_tidy_types(table: pl.DataFrame, *, source: str) -> pl.DataFrame:
    """Give the columns of a tidy table read from CSV their types; levels of factors stay text.

    Raises:
        InputError: a cell is not of its column's type; names the line, or the row of a file without lines.
    """
    typed = []
    for name in table.columns:
        column = table[name]
        kind = pl.Int64() if name == _ITERATIONS else TABLE_SCHEMA.get(name, pl.String())
        if column.dtype == pl.Null or (kind != pl.String() and column.dtype in (pl.Categorical, pl.Enum)):
            column = column.cast(kind if column.dtype == pl.Null else pl.String())
        if column.dtype != pl.String or kind == pl.String():
            typed.append(column)
            continue
        text = column.str.strip_chars().replace("", None)
        if kind == pl.Boolean():
            lower = text.str.to_lowercase()
            restored = (lower == "true").alias(name)
            wrong = lower.is_not_null() & ~lower.is_in(["true", "false"])
        else:
            restored = text.cast(kind, strict=False)
            wrong = text.is_not_null() & restored.is_null()
        if wrong.any():
            row = wrong.arg_max() or 0
            wanted = "neither true nor false" if kind == pl.Boolean() else "not a number"
            raise InputError(
                f'{name} is "{column[row]}", which is {wanted}',
                where=f"{source}:{row + (2 if is_text_table(Path(source)) else 1)}",
                remedy="Correct the value, or remove the line.",
            )
        typed.append(restored)
    return pl.DataFrame(typed)


def refuse_unspoken_types(table: pl.DataFrame, *, source: str) -> None:
    """Refuse a column whose type has neither numbers nor a text for each value, as no text format holds it.

    Raises:
        InputError: there is such a column.
    """
    odd = (pl.Duration, pl.Binary, pl.Object, pl.BaseExtension)
    for name, kind in table.schema.items():
        if kind.is_nested() or isinstance(kind, odd):
            raise InputError(
                f"column {name} holds {kind}, neither numbers nor texts",
                where=source,
                remedy="Make numbers or texts of it, such as seconds of a duration, leave the column out, or "
                f"write {argument('to', 'parquet', verb='export')}.",
            )


def restore_plain_types(table: pl.DataFrame) -> pl.DataFrame:
    """Make numbers of the columns of a CSV table that hold nothing else; `007` stays text."""
    return table.select(
        [
            _guess_type(table[name]) if table[name].dtype == pl.String else table[name]
            for name in table.columns
        ]
    )


def _guess_type(column: pl.Series) -> pl.Series:
    filled = column.drop_nulls()
    if filled.len() == 0 or filled.str.contains(_NOT_KEPT).any():
        return column
    if filled.str.contains(_INTEGER).all():
        return column.cast(pl.Int64)
    if filled.str.contains(_NUMBER).all():
        return column.cast(pl.Float64)
    return column
