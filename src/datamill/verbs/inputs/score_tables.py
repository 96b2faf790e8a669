"""Tables of scores wherever they come from: each as machine, benchmark, seconds or score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import list_first
from datamill.platforms.scores.bundle_scores import gather_bundle_scores
from datamill.results.bundles.opening import open_bundle
from datamill.results.foreign.suites.reading_suites import (
    SUITE_FORMATS,
    find_suite_format,
    list_empty_files,
    list_suite_files,
    read_suites,
)
from datamill.results.tables.table_files import is_text_table, read_table_file
from datamill.verbs.inputs.data import locate_errors
from datamill.verbs.inputs.frames import take_frame
from datamill.verbs.inputs.nested_data import warn_of_interruption


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


def load_scores_table(source: Any, name: str, *, response: str = "") -> ScoresTable:
    """Load the table of a path, of several, of a bundle or of a suite's results, or one in memory.

    Messages call one in memory by `name`. `response` is which one of a bundle's, else its first.

    Raises:
        InputError: there is none that can be read; names the file.
    """
    if isinstance(source, (list, tuple)) and source and all(isinstance(item, (str, Path)) for item in source):
        return _load_paths([Path(item) for item in source], response)
    if not isinstance(source, (str, Path)):
        with locate_errors(name):
            return ScoresTable(take_frame(source), name, name, 1)
    return _load_paths([Path(source)], response)


def _load_paths(paths: Sequence[Path], response: str) -> ScoresTable:
    if len(paths) == 1 and (paths[0] / "bundle.json").is_file():
        return _load_bundle(paths[0], response)
    files: list[Path] = []
    for path in paths:
        found = list_suite_files(path) if path.is_dir() else [path]
        if not found:
            titles = " or ".join(item.title for item in SUITE_FORMATS)
            raise InputError(
                "this folder is neither a bundle nor does it hold files of a suite",
                where=str(path),
                remedy=f"Give a table, a bundle, or {titles}.",
            )
        files += found
    if len(files) > 1 or find_suite_format(files[0]) is not None:
        read = read_suites(files)
        place = ", ".join(map(str, paths)) if len(paths) < 4 else f"{paths[0]} and {len(paths) - 1} more"
        empty = [str(file) for path in paths if path.is_dir() for file in list_empty_files(path)]
        told = (f"files without content are left out: {list_first(empty, 3)}",) if empty else ()
        return ScoresTable(read.table, place, place, None, (*told, *read.notes))
    file = files[0]
    first_line, text_file = (2, file) if is_text_table(file) else (1, None)
    table = _trim_names(read_table_file(file), str(file))
    return ScoresTable(table, str(file), str(file), first_line, text_file=text_file)


def _trim_names(table: pl.DataFrame, file: str) -> pl.DataFrame:
    """The table with names of columns as they are meant, without the blanks that people put after commas."""
    names = [name.strip() for name in table.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f'the column "{twice}" stands there twice', where=file, remedy="Rename one of them.")
    return table.rename(dict(zip(table.columns, names, strict=True)))


def _load_bundle(folder: Path, response: str) -> ScoresTable:
    bundle = open_bundle(folder)
    table = bundle.read_table()
    responses = {item.name: item for item in bundle.experiment.responses}
    chosen = response or bundle.experiment.responses[0].name
    with locate_errors(str(folder)):
        scores = gather_bundle_scores(
            table,
            chosen,
            factors=[factor.name for factor in bundle.design.crossed],
            higher=chosen in responses and responses[chosen].direction == "higher",
            source=str(bundle.table_file),
        )
    return ScoresTable(scores, str(folder), str(folder), None, warn_of_interruption(bundle, table))
