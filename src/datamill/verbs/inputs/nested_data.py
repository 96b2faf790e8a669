"""Nested measurements of an analysis: from a file, a bundle, or a table in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

import polars as pl

from datamill.analysis.model_data.rows.chosen_rows import Where, choose_rows
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.random_effects.nested_data.nesting import NestingColumns, gather_nested
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.arguments import command
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.opening import open_bundle
from datamill.results.foreign.importing import import_files
from datamill.results.tables.table_files import is_text_table, read_table_file
from datamill.verbs.inputs.arguments import refuse_unknown, take_name
from datamill.verbs.inputs.data import locate_errors
from datamill.verbs.inputs.frames import take_frame
from datamill.verbs.inputs.stopped import warn_of_stopping

#: What Parquet files begin with.
_PARQUET_MARK = b"PAR1"


class AskedNested(TypedDict, total=False):
    """Which columns of a plain table hold what; the options of the same names."""

    response: str
    value: str
    version: str
    build: str
    execution: str
    measurement: str
    unit: str


@dataclass(frozen=True, slots=True, eq=False)
class NestedData:
    """What a verb on nested measurements works on.

    `versions` in their order; `experiment` is that of a bundle, `source` names the data in messages,
    `excluded` counts rows of the response that were judged invalid, `put_aside` those that are no
    observations of the question, by what they are, and `notes` are warnings about the data.
    """

    versions: tuple[NestedValues, ...]
    experiment: Experiment | None
    source: str
    excluded: int
    notes: tuple[str, ...] = ()
    put_aside: tuple[tuple[str, int], ...] = ()

    def choose_confidence(self, given: float | None) -> float:
        """Level of intervals: the given one, else that of the bundle's experiment, else 0.95."""
        if given is not None:
            return given
        return self.experiment.confidence if self.experiment else 0.95


def build_nesting_columns(asked: AskedNested, verb: Callable[..., object]) -> NestingColumns:
    """Return the columns that a verb was told of as a record.

    Raises:
        InputError: the verb has no such argument, or one is no text.
    """
    refuse_unknown(verb, asked, AskedNested.__annotations__)
    given: Mapping[str, Any] = asked
    return NestingColumns(**{name: take_name(name, given.get(name)) for name in AskedNested.__annotations__})


@dataclass(frozen=True, slots=True, eq=False)
class LoadedTable:
    """A table as it was given, in a file, a bundle or memory.

    `place` is what was given, `file` names the table itself in messages, and `first_line` is the number of
    its first row there, None where rows have none; `text_file` is the CSV whose lines these are. Of a bundle
    there are the `experiment` and the `levels` of its factors. `notes` are warnings about it.
    """

    table: pl.DataFrame
    place: str
    file: str
    first_line: int | None
    experiment: Experiment | None
    levels: Mapping[str, Sequence[str]]
    notes: tuple[str, ...] = ()
    text_file: Path | None = None

    def choose_response(self, columns: NestingColumns) -> NestingColumns:
        """The columns with a response: of a bundle its first one, where none is named."""
        if columns.response or self.experiment is None:
            return columns
        return replace(columns, response=self.experiment.responses[0].name)


def load_table(data: Any, name: str = "table") -> LoadedTable:
    """Load the table of a path or bundle, or one in memory, which messages call by `name`.

    Results of another tool, a file or criterion's folder, are imported first.

    Raises:
        InputError: there is none that can be read; names the file.
    """
    if not isinstance(data, (str, Path)):
        with locate_errors(name):
            return LoadedTable(take_frame(data), name, name, 1, None, {})
    path = Path(data)
    if _is_foreign(path):
        imported = import_files([path])
        notes = tuple(f"{path}: {note}" for file in imported.files for note in file.notes)
        return LoadedTable(imported.table, str(path), str(path), None, None, {}, notes)
    if path.is_dir():
        bundle = open_bundle(path)
        levels = {factor.name: factor.levels for factor in bundle.design.crossed}
        table, file = bundle.read_table(), str(bundle.table_file)
        notes = (*warn_of_interruption(bundle, table), *warn_of_stopping(bundle))
        return LoadedTable(table, str(path), file, None, bundle.experiment, levels, notes)
    first_line, text_file = (2, path) if is_text_table(path) else (1, None)
    table = read_table_file(path)
    return LoadedTable(table, str(path), str(path), first_line, None, {}, text_file=text_file)


def _is_foreign(path: Path) -> bool:
    """Whether a path is neither a bundle nor a table of ours, by its ending or its content."""
    if path.is_dir():
        # Not a search of all that is below: any folder may be given by mistake.
        samples = (next(path.glob(f"{'*/' * depth}sample.json"), None) for depth in range(1, 6))
        return not (path / "bundle.json").exists() and any(samples)
    if not path.is_file() or path.suffix.lower() in (".csv", ".parquet"):
        return False
    with path.open("rb") as file:
        return file.read(len(_PARQUET_MARK)) != _PARQUET_MARK


def warn_of_interruption(bundle: Bundle, table: pl.DataFrame) -> tuple[str, ...]:
    """How many of the trials that are needed the table lacks."""
    needed = bundle.list_needed_trials()
    ended = set(table["trial_id"].to_list())
    missing = sum(trial.trial_id not in ended for trial in needed)
    if not missing:
        return ()
    return (
        f"{missing} of {len(needed)} trials have not run: continue it with "
        f"{command('run', resume=bundle.folder)}",
    )


def read_nested(data: Any, columns: NestingColumns | None = None, where: Where = ()) -> NestedData:
    """Read a table or bundle, and gather its values by version, build and execution.

    `data` is the path of a CSV or Parquet file or of a bundle, or a table: polars, pandas, Arrow, a
    dict of columns, of which the rows of `where` are taken. Without a column of versions all is one version,
    named after the file.

    Raises:
        InputError: whatever keeps that from being done; names the file.
    """
    loaded = load_table(data)
    columns = loaded.choose_response(columns or NestingColumns())
    if where:
        with locate_errors(loaded.file):
            chosen = choose_rows(loaded.table, where, loaded.file)
        # Lines of the file are no longer those of the rows.
        loaded = replace(loaded, table=chosen, first_line=None, text_file=None)
    with locate_errors(loaded.file, loaded.text_file):
        found = gather_nested(
            loaded.table,
            columns,
            levels=loaded.levels,
            only_version=Path(data).stem if isinstance(data, (str, Path)) else "all",
            source=loaded.file,
            first_line=loaded.first_line,
        )
    notes = (*loaded.notes, *found.notes)
    return NestedData(found.versions, loaded.experiment, loaded.place, found.excluded, notes, found.put_aside)
