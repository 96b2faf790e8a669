"""Lines of a CSV file: which one a row begins at."""

from __future__ import annotations

import csv
from pathlib import Path

from datamill.experiment.errors import InputError


def correct_line(error: InputError, file: Path) -> InputError:
    """Return an error about a row of a CSV file with the line where that row begins.

    Who finds it in the table has no file to look into, and counts the header and each row as one line; texts
    with line breaks take several, and blank lines before the header are none of these. An error that names
    no row of the file stays as it is.
    """
    place, _, number = error.where.rpartition(":")
    if place != str(file) or not number.isdecimal():
        return error
    line = find_line(file, int(number) - 2)
    where = str(file) if line is None else f"{file}:{line}"
    return error.moved(where)


def find_line(file: Path, row: int) -> int | None:
    """The line, from 1, where a row begins, from 0 after the header; None where that cannot be told.

    Blank lines behind the header are rows, as they are for polars.
    """
    # Only \n ends a line: other tools count so, and polars reads \r as part of a text.
    with file.open(encoding="utf-8-sig", errors="replace", newline="\n") as handle:
        rows = csv.reader(handle)
        try:
            next(filter(None, rows), None)
            for _ in range(row):
                next(rows)
        except (csv.Error, StopIteration):
            return None
        return rows.line_num + 1
