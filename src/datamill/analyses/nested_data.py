"""Nested measurements of an analysis: from a file, a bundle, or a table in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

import polars as pl

from datamill.analyses.arguments import refuse_unknown, take_name
from datamill.analyses.data import locate_errors
from datamill.analyses.frames import take_frame
from datamill.analysis.random_effects.nesting import NestedVersions, NestingColumns, gather_nested
from datamill.analysis.random_effects.records import NestedValues
from datamill.experiment.records import Experiment
from datamill.results.bundle import open_bundle
from datamill.results.table_files import is_text_table, read_table_file


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

    `versions` in their order; `experiment` is that of a bundle, `source` names the data in messages, and
    `excluded` counts rows of the response that were judged invalid.
    """

    versions: tuple[NestedValues, ...]
    experiment: Experiment | None
    source: str
    excluded: int

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


def read_nested(data: Any, columns: NestingColumns | None = None) -> NestedData:
    """Read a table or bundle, and gather its values by version, build and execution.

    `data` is the path of a CSV or Parquet file or of a bundle, or a table: polars, pandas, Arrow, a
    dict of columns. Without a column of versions all is one version, named after the file.

    Raises:
        InputError: whatever keeps that from being done; names the file.
    """
    columns = columns or NestingColumns()
    if not isinstance(data, (str, Path)):
        with locate_errors("table"):
            found = gather_nested(take_frame(data), columns, source="table", first_line=1)
        return NestedData(found.versions, None, "table", found.excluded)
    file = Path(data)
    if file.is_dir():
        return _read_bundle(file, columns)
    table = read_table_file(file)
    with locate_errors(str(file)):
        found = gather_nested(
            table,
            columns,
            only_version=file.stem,
            source=str(file),
            first_line=2 if is_text_table(file) else 1,
        )
    return NestedData(found.versions, None, str(file), found.excluded)


def _read_bundle(folder: Path, columns: NestingColumns) -> NestedData:
    bundle = open_bundle(folder)
    table_file = folder / "table.parquet"
    wanted = replace(columns, response=columns.response or bundle.experiment.responses[0].name)
    levels: dict[str, Sequence[str]] = {factor.name: factor.levels for factor in bundle.design.crossed}
    table: pl.DataFrame = read_table_file(table_file)
    with locate_errors(str(table_file)):
        found: NestedVersions = gather_nested(table, wanted, levels=levels, source=str(table_file))
    return NestedData(found.versions, bundle.experiment, str(folder), found.excluded)
