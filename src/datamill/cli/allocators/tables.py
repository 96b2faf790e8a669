"""Tables of calls that are written, checked before a program runs, which may take hours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from datamill.experiment.errors import InputError
from datamill.results.tables.csv_files.formula_cells import mark_cells

#: How a table is written, by the ending of its name.
_WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    ".parquet": pl.DataFrame.write_parquet,
    ".csv": lambda table, path: mark_cells(table).write_csv(path),
}


def check_place(path: Path) -> None:
    """Refuse a file that cannot be written.

    Raises:
        InputError: it is a folder, or its folder is not there.
    """
    if path.is_dir() or not path.parent.is_dir():
        reason = "is a folder" if path.is_dir() else "cannot be written: there is no such folder"
        raise InputError(f"{path} {reason}", remedy="Name a file in a folder that exists.")


def check_table(option: str, path: Path | None) -> None:
    """Refuse a table whose name does not say how it is written.

    Raises:
        InputError: it ends neither in .parquet nor in .csv.
    """
    if path is not None and path.suffix not in _WRITERS:
        raise InputError(
            f"{path} is not the name of a table",
            remedy=f"Give it the ending .parquet, or .csv: {option} calls.parquet",
        )


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table as its name says."""
    _WRITERS[path.suffix](table, path)
