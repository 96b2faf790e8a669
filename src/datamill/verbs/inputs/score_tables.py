"""Tables of scores wherever they come from: each as machine, benchmark, seconds or score."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from datamill.results.tables.table_files import is_text_table, read_table_file
from datamill.verbs.inputs.data import locate_errors
from datamill.verbs.inputs.frames import take_frame


@dataclass(frozen=True, slots=True, eq=False)
class ScoresTable:
    """A table of scores or times as it was given.

    `place` is what was given, `file` names the table itself in messages, `first_line` is the number of its
    first row there, None where rows have none; `text_file` is the CSV whose lines these are. `notes` are
    sentences about what was found.
    """

    table: pl.DataFrame
    place: str
    file: str
    first_line: int | None
    notes: tuple[str, ...] = ()
    text_file: Path | None = None


def load_scores_table(source: Any, name: str) -> ScoresTable:
    """Load the table of a path, or one in memory, which messages call by `name`.

    Raises:
        InputError: there is none that can be read; names the file.
    """
    if not isinstance(source, (str, Path)):
        with locate_errors(name):
            return ScoresTable(take_frame(source), name, name, 1)
    path = Path(source)
    first_line, text_file = (2, path) if is_text_table(path) else (1, None)
    return ScoresTable(read_table_file(path), str(path), str(path), first_line, text_file=text_file)
