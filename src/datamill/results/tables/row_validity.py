"""What a tidy table says of its rows: that they are valid, or that they are not."""

from __future__ import annotations

import polars as pl

from datamill.experiment.errors import InputError

#: Columns without which a table is not the tidy one.
TIDY_COLUMNS = ("trial_id", "response", "value", "valid")


def is_tidy(table: pl.DataFrame) -> bool:
    """Whether this is datamill's tidy table: one row an observation, the response in a column."""
    return all(column in table.columns for column in TIDY_COLUMNS)


def read_validity(table: pl.DataFrame, source: str, first_line: int | None) -> pl.DataFrame:
    """Return a tidy table with truth values in column `valid`, which may be words in upper or lower case.

    Where a row says nothing it says nothing afterwards, and counts among the invalid ones. `first_line` is
    the line of the first row in `source`, for messages; None where rows have none.

    Raises:
        InputError: a row is neither valid nor invalid, and would be left out in silence; names the first.
    """
    valid = table["valid"]
    if valid.dtype == pl.Boolean:
        return table
    if valid.dtype.is_nested() or isinstance(valid.dtype, (pl.Binary, pl.Object, pl.BaseExtension)):
        raise InputError(
            f"column valid holds {valid.dtype}, neither true nor false",
            where=source,
            remedy="Write true or false.",
        )
    words = valid.cast(pl.String).str.to_lowercase()
    odd = ~words.is_in(["true", "false"]).fill_null(value=True)
    if odd.any():
        row = odd.arg_max() or 0
        raise InputError(
            f'valid is "{valid[row]}", which is neither true nor false',
            where=source if first_line is None else f"{source}:{row + first_line}",
            remedy="Write true or false, or remove the row.",
        )
    return table.with_columns(valid=words == "true")
