"""Texts in CSV that a spreadsheet would execute as a formula: marked when written, unmarked when read.

A spreadsheet computes a cell that begins with `=`, `+`, `-`, `@`, a tab or the end of a line, also one that a
stranger wrote. An apostrophe before it makes it a text (OWASP, CSV injection). Numbers stay as they are, and
so do flags and names such as `-O2` or `+sse`: a cell that begins with a sign calls a function, a program or
another file only by one of the characters of `_REACHING`, and other programs read levels as they are. Texts
that begin with apostrophes and what is marked get one more, so that what is written is read back as it was.
"""

from __future__ import annotations

import re

from datamill.late import pl

MARK = "'"
#: Calls, programs (DDE), sheets and files, texts, lists of arguments, and cells that a tab or a line divides.
_REACHING = r"""[(|!'"@&;\t\r\n]"""
_COMPUTED = rf"(?:[=@\t\r\n]|[+\-][\s\S]*{_REACHING})"
#: As polars reads them, too: `\A` is the beginning of the cell, not of a line.
_FORMULA = rf"\A'*{_COMPUTED}"
_MARKED = rf"\A'+{_COMPUTED}"
_IS_FORMULA = re.compile(_FORMULA)


def mark_text(text: str) -> str:
    """Return a text as a cell that a spreadsheet takes for a text."""
    return MARK + text if _IS_FORMULA.match(text) else text


def mark_cells(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose texts no spreadsheet executes, to be written as CSV."""
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
    return pl.when(cell.str.contains(_FORMULA)).then(pl.lit(MARK) + cell).otherwise(cell)
