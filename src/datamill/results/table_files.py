"""Tables of measurements as files: CSV and Parquet."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from datamill.experiment.errors import InputError

#: First bytes of Parquet files, of zip archives, which Excel's are, and of Excel's before 2007.
_PARQUET, _ZIP, _OLD_EXCEL = b"PAR1", b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
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
            return pl.read_parquet(file, columns=present if columns else None)
        _refuse_bad_header(file)
        table = pl.read_csv(file, infer_schema=False)
        filled = table.select(~pl.all_horizontal(pl.all().is_null())).to_series()
        last = filled.reverse().arg_max() or 0
    except UnicodeDecodeError:
        raise _refuse_encoding(file) from None
    except (pl.exceptions.PolarsError, csv.Error) as error:
        if is_text_table(file):
            _refuse_long_rows(file)
        reason = str(error).splitlines()[0].rstrip(".:")
        raise InputError(f"the table cannot be read: {reason}", where=str(file), remedy=_REMEDY) from None
    return table.head(table.height - last if filled.any() else 0)


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
    if is_text_table(file):
        if mark == _PARQUET:
            raise InputError(
                "this is a Parquet file", where=str(file), remedy="Let its name end in .parquet."
            )
        if mark.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise _refuse_encoding(file)
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


def _refuse_encoding(file: Path) -> InputError:
    return InputError(
        "the text is not in UTF-8", where=str(file), remedy="Save it as comma-separated CSV in UTF-8."
    )


def _refuse_bad_header(file: Path) -> None:
    with file.open(encoding="utf-8-sig", newline="") as handle:
        header = next(csv.reader(handle), [])
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and mark in header[0]:
            raise InputError(
                f"the columns seem to be separated by {name}",
                where=str(file),
                remedy="Separate them by commas, and write numbers with a decimal point.",
            )
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise InputError(
            f'the column "{repeated[0]}" stands there twice', where=f"{file}:1", remedy="Rename one of them."
        )


def _refuse_long_rows(file: Path) -> None:
    """Refuse the first row that has more fields than the header, if there is one."""
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as handle:
        rows = csv.reader(handle)
        try:
            width = len(next(rows, []))
            row = next((row for row in rows if len(row) > width), None)
        except csv.Error:
            return
    if row is not None:
        raise InputError(
            f"the row has {len(row)} fields, the header {width}",
            where=f"{file}:{rows.line_num}",
            remedy='Correct the row; a text or number with a comma in it stands in quotes: "1,5".',
        )
