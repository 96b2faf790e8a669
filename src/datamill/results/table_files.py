"""Tables of measurements as files: CSV and Parquet."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from datamill.experiment.errors import InputError


def is_text_table(file: Path) -> bool:
    """Whether the file is read as CSV: then its rows have line numbers."""
    return file.suffix.lower() == ".csv"


def has_plain_columns(file: Path, columns: Sequence[str]) -> bool:
    """Whether a Parquet file has all these columns and is no tidy table: no other is needed then."""
    if not columns or is_text_table(file) or not file.is_file():
        return False
    try:
        known = pl.read_parquet_schema(file)
    except pl.exceptions.PolarsError:
        return False
    return "trial_id" not in known and all(name in known for name in columns)


def read_table_file(file: Path, columns: Sequence[str] = ()) -> pl.DataFrame:
    """Read a table; every column of a CSV file as text, so that what is not a number is known by its line.

    With `columns`, of a Parquet file only those of them that it has.

    Raises:
        InputError: there is no such file, it is no table, or two columns have the same name.
    """
    if not file.is_file():
        raise InputError("there is no such file", where=str(file), remedy="Check the path.")
    try:
        if not is_text_table(file):
            present = [name for name in pl.read_parquet_schema(file) if name in columns]
            return pl.read_parquet(file, columns=present if columns else None)
        _refuse_repeated_columns(file)
        table = pl.read_csv(file, infer_schema=False)
        filled = table.select(~pl.all_horizontal(pl.all().is_null())).to_series()
        last = filled.reverse().arg_max() or 0
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0].rstrip(".:")
        raise InputError(
            f"the table cannot be read: {reason}",
            where=str(file),
            remedy="Give a comma-separated .csv file in UTF-8 with a header line, or a .parquet file.",
        ) from None
    _refuse_other_separator(table, file)
    return table.head(table.height - last if filled.any() else 0)


def _refuse_other_separator(table: pl.DataFrame, file: Path) -> None:
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if table.width == 1 and mark in table.columns[0]:
            raise InputError(
                f"the columns seem to be separated by {name}",
                where=str(file),
                remedy="Separate them by commas.",
            )


def _refuse_repeated_columns(file: Path) -> None:
    with file.open(encoding="utf-8-sig", newline="") as handle:
        header = next(csv.reader(handle), [])
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise InputError(
            f'the column "{repeated[0]}" stands there twice', where=f"{file}:1", remedy="Rename one of them."
        )
