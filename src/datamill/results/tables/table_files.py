"""Tables of measurements as files: CSV and Parquet."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from datamill.experiment.errors import InputError
from datamill.results.tables.csv_files.csv_lines import correct_line
from datamill.results.tables.csv_files.csv_mistakes import (
    refuse_bad_header,
    refuse_bad_quotes,
    refuse_encoding,
    refuse_long_rows,
    refuse_odd_text,
)
from datamill.results.tables.csv_files.formula_cells import unmark_cells
from datamill.results.tables.level_orders import read_declared_orders
from datamill.results.tables.row_validity import is_tidy, read_validity

#: First bytes of Parquet files, of zip archives, which Excel's are, and of Excel's before 2007.
_PARQUET, _ZIP, _OLD_EXCEL = b"PAR1", b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
#: First bytes of compressed files.
_COMPRESSED = {
    "gzip": re.compile(rb"\x1f\x8b\x08"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
    "bzip2": re.compile(rb"BZh[1-9]1AY&SY"),
    "xz": re.compile(rb"\xfd7zXZ\0"),
}
_REMEDY = "Give a comma-separated .csv file in UTF-8 with a header line, or a .parquet file."


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

    Apostrophes that `mark_cells` put before texts are taken away.

    With `columns`, of a Parquet file only those of them that it has.

    Raises:
        InputError: there is no such file, it is no table, or two columns have the same name.
    """
    if not file.is_file():
        raise InputError("there is no such file or folder", where=str(file), remedy="Check the path.")
    _refuse_other_formats(file)
    try:
        if not is_text_table(file):
            present = [name for name in pl.read_parquet_schema(file) if name in columns]
            frame = pl.read_parquet(file, columns=present if columns else None)
            if is_tidy(frame):
                read_validity(frame, str(file), 1)
            return read_declared_orders(file, frame)
        refuse_bad_header(file)
        refuse_bad_quotes(file)
        table = unmark_cells(pl.read_csv(file, infer_schema=False))
        filled = table.select(~pl.all_horizontal(pl.all().is_null())).to_series()
        last = filled.reverse().arg_max() or 0
    except UnicodeDecodeError:
        raise refuse_encoding(file) from None
    except (pl.exceptions.PolarsError, csv.Error) as error:
        if is_text_table(file):
            refuse_long_rows(file)
        reason = str(error).splitlines()[0].rstrip(".:")
        raise InputError(f"the table cannot be read: {reason}", where=str(file), remedy=_REMEDY) from None
    table = table.head(table.height - last if filled.any() else 0)
    if is_tidy(table):
        try:
            read_validity(table, str(file), 2)
        except InputError as error:
            raise correct_line(error, file) from None
    return table


def _refuse_other_formats(file: Path) -> None:
    """Refuse a file whose first bytes are those of another format than its name says."""
    with file.open("rb") as handle:
        first = handle.read(4096)
    mark = first[:4]
    is_book = b"[Content_Types].xml" in first or file.suffix.lower().startswith(".xls")
    if first.startswith(_OLD_EXCEL) or (mark == _ZIP and is_book):
        raise InputError(
            "this is an Excel workbook",
            where=str(file),
            remedy="Save its sheet as comma-separated CSV in UTF-8, under a name that ends in .csv.",
        )
    if mark == _ZIP:
        raise InputError("this is a zip archive", where=str(file), remedy="Unpack it first.")
    for name, beginning in _COMPRESSED.items():
        if beginning.match(first):
            raise InputError(
                f"this is a file compressed with {name}", where=str(file), remedy="Unpack it first."
            )
    if is_text_table(file):
        if mark == _PARQUET:
            raise InputError(
                "this is a Parquet file", where=str(file), remedy="Give it a name that ends in .parquet."
            )
        refuse_odd_text(file, first)
    elif mark != _PARQUET:
        raise InputError(
            f"this is {_guess_format(first)}, and no Parquet file", where=str(file), remedy=_REMEDY
        )


def _guess_format(first: bytes) -> str:
    """What a file that is no Parquet seems to be, by its first bytes."""
    if not first:
        return "an empty file"
    if b"\0" in first:
        return "a file of an unknown format"
    start = first.lstrip()
    line = start.partition(b"\n")[0]
    if start.startswith(b"<"):
        return "an HTML or XML file"
    if start.startswith((b"{", b"[")):
        return "a JSON file"
    if b"\t" in line:
        return "a table separated by tabs"
    if b";" in line:
        return "a table separated by semicolons"
    return "a text file"
