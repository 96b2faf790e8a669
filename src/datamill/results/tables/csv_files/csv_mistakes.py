"""Mistakes in CSV files that a fast reader misunderstands, or reports without their line."""

from __future__ import annotations

import codecs
import csv
import mmap
import re
from pathlib import Path

from datamill.experiment.errors import InputError

#: A whole field in quotes, behind what ends the one before; it begins with the sign that is found fast.
_QUOTED = re.compile(rb'"(?:(?<![^,\r\n]")|(?<=\xef\xbb\xbf"))[^"]*+(?:""[^"]*+)*+"(?=[,\r\n]|\Z)')
_QUOTES = 'A text in quotes ends at its comma or line; a quotation mark inside it is doubled: "5"" disk".'


def refuse_encoding(file: Path) -> InputError:
    """The error about a text in another encoding."""
    return InputError(
        "the text is not in UTF-8", where=str(file), remedy="Save it as comma-separated CSV in UTF-8."
    )


def refuse_odd_text(file: Path, first: bytes) -> None:
    """Refuse a text whose first bytes show another encoding, old line ends, or a note to a spreadsheet.

    Raises:
        InputError: it is such a text.
    """
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in first:
        raise refuse_encoding(file)
    if b"\r" in first and b"\n" not in first:
        raise InputError(
            "the lines end in carriage returns alone, as on very old Macintoshes",
            where=str(file),
            remedy="Save it with the line ends of Windows or Unix.",
        )
    if first.removeprefix(codecs.BOM_UTF8)[:4].lower() == b"sep=":
        raise InputError(
            "the first line is a note to a spreadsheet, not the names of the columns",
            where=f"{file}:1",
            remedy="Remove the line.",
        )


def refuse_bad_header(file: Path) -> None:
    """Refuse a file without a header, a header of other separators than commas, or with a name twice.

    Raises:
        InputError: the header is such a one.
    """
    with file.open(encoding="utf-8-sig", newline="") as handle:
        rows = csv.reader(handle)
        header = next(filter(None, rows), [])
    if not header:
        raise InputError(
            "the file is empty", where=str(file), remedy="Give a header line with the names of the columns."
        )
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
            f'the column "{repeated[0]}" stands there twice',
            where=f"{file}:{rows.line_num}",
            remedy="Rename one of them.",
        )


def refuse_bad_quotes(file: Path) -> None:
    """Refuse a field in quotes that is not closed, or that goes on behind the closing one.

    Polars, for one, takes `"a"b` for `ab` where quotation marks further on make up for it, and rows with it.

    Raises:
        InputError: with the line where the row begins.
    """
    if file.stat().st_size == 0:
        return
    with file.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if not _has_loose_quotes(content):
            return
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as text:
        rows = csv.reader(text, strict=True)
        line = 0
        try:
            for _ in rows:
                line = rows.line_num
        except csv.Error as error:
            if "limit" in str(error):
                return
            raise InputError(
                "a quotation mark stands in the wrong place", where=f"{file}:{line + 1}", remedy=_QUOTES
            ) from None


def _has_loose_quotes(content: mmap.mmap) -> bool:
    """Whether a quotation mark is no part of a whole field in quotes; nothing is copied."""
    end = 0
    for field in _QUOTED.finditer(content):
        if content.find(b'"', end, field.start()) >= 0:
            return True
        end = field.end()
    return content.find(b'"', end) >= 0


def refuse_long_rows(file: Path) -> None:
    """Refuse the first row that has more fields than the header, or an odd number of quotation marks.

    Raises:
        InputError: there is such a row.
    """
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as handle:
        rows = csv.reader(handle)
        try:
            # Blank lines before the header are none of the table.
            width = len(next(filter(None, rows), []))
            line = rows.line_num + 1
            for row in rows:
                if len(row) > width or _has_odd_quotes(row):
                    break
                line = rows.line_num + 1
            else:
                return
        except csv.Error:
            return
    if len(row) <= width:
        raise InputError("a quotation mark stands in the wrong place", where=f"{file}:{line}", remedy=_QUOTES)
    raise InputError(
        f"the row has {len(row)} fields, the header {width}",
        where=f"{file}:{line}",
        remedy='Correct the row; a text or number with a comma in it stands in quotes: "1,5".',
    )


def _has_odd_quotes(row: list[str]) -> bool:
    return any(field.count('"') % 2 for field in row)
