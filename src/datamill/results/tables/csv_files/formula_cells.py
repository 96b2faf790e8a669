"""Texts in CSV that a spreadsheet would take for a formula: marked when written, unmarked when read.

A spreadsheet computes a cell that begins with `=`, `+`, `-`, `@`, a tab or the end of a line, whoever wrote
it. An apostrophe before it makes it a text (OWASP, CSV injection). Numbers stay as they are, and texts that
begin with apostrophes and such a sign get one more, so that what is written is read back as it was.
"""

from __future__ import annotations

import re

from datamill.late import pl

MARK = "'"
_NUMBER = r"[+-](?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
#: As polars reads them, too: `\A` and `\z` are the ends of the cell, not of a line.
_FORMULA = r"\A'*[=+\-@\t\r\n]"
_MARKED = r"\A'+[=+\-@\t\r\n]"
_IS_FORMULA, _IS_NUMBER = re.compile(_FORMULA), re.compile(_NUMBER)


def mark_text(text: str) -> str:
    """Return a text as a cell that no spreadsheet computes."""
    return MARK + text if _IS_FORMULA.match(text) and not _IS_NUMBER.fullmatch(text) else text


def mark_cells(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose texts no spreadsheet computes, to be written as CSV."""
    kinds = (pl.String, pl.Categorical, pl.Enum)
    texts = [name for name, kind in table.schema.items() if kind.base_type() in kinds]
    return table.with_columns(_mark(pl.col(name).cast(pl.String)).alias(name) for name in texts)


def unmark_cells(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table that was read from CSV, all texts, as it was before it was written."""
    having = [name for name in table.columns if table[name].str.starts_with(MARK).any()]
    return table.with_columns(
        pl.when(pl.col(name).str.contains(_MARKED))
        .then(pl.col(name).str.slice(1))
        .otherwise(pl.col(name))
        .alias(name)
        for name in having
    )


def _mark(cell: pl.Expr) -> pl.Expr:
    computed = cell.str.contains(_FORMULA) & ~cell.str.contains(rf"\A{_NUMBER}\z")
    return pl.when(computed).then(pl.lit(MARK) + cell).otherwise(cell)
