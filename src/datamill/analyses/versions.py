"""Versions to compare, from several files, bundles or tables: each with a name of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from datamill.analyses.data import locate_errors
from datamill.analyses.frames import take_frame
from datamill.analysis.model_data.observations import is_tidy, list_tidy_factors
from datamill.analysis.random_effects.nesting import NestingColumns, gather_nested
from datamill.analysis.random_effects.records import NestedValues, RepetitionCosts
from datamill.experiment.errors import InputError
from datamill.experiment.records import Direction, Experiment
from datamill.results.bundle import open_bundle
from datamill.results.costs import measure_costs
from datamill.results.table_files import is_text_table, read_table_file


@dataclass(frozen=True, slots=True, eq=False)
class VersionSource:
    """What one argument holds: its versions, and where they were measured.

    `experiment` is that of a bundle; `workers` are the machines that datamill's own table names. `name` is
    short, `place` the path as it was given.
    """

    versions: tuple[NestedValues, ...]
    experiment: Experiment | None
    workers: frozenset[str]
    name: str
    place: str
    excluded: int


def read_source(data: Any, columns: NestingColumns, where: Mapping[str, str], number: int) -> VersionSource:
    """Read one argument: a CSV or Parquet file, a bundle, or a table in memory, the `number`-th.

    Of a bundle packages are the versions, or the levels of the one factor that varies. `where` keeps the
    rows with these levels only.

    Raises:
        InputError: whatever keeps that from being done, and factors that vary besides; names the file.
    """
    experiment: Experiment | None = None
    levels: dict[str, Sequence[str]] = {}
    first_line: int | None = 1
    if not isinstance(data, (str, Path)):
        name, place = f"table {number}", f"table {number}"
        with locate_errors(place):
            table = take_frame(data)
    elif Path(data).is_dir():
        bundle = open_bundle(Path(data))
        experiment = bundle.experiment
        levels = {factor.name: factor.levels for factor in bundle.design.crossed}
        if not columns.response:
            columns = replace(columns, response=experiment.responses[0].name)
        name, place = Path(data).resolve().name, str(data)
        table = read_table_file(Path(data) / "table.parquet")
    else:
        file = Path(data)
        name, place = file.stem, str(data)
        table = read_table_file(file)
        first_line = 2 if is_text_table(file) else 1
    with locate_errors(place):
        if where:
            # Rows that are left out would make every number of a line wrong.
            table, first_line = _keep_rows(table, where), None
        if is_tidy(table):
            _refuse_crossed_factors(table, columns.response)
        found = gather_nested(
            table, columns, levels=levels, only_version=name, source=place, first_line=first_line
        )
    workers = table["worker"].cast(pl.String).drop_nulls().unique() if "worker" in table.columns else ()
    return VersionSource(found.versions, experiment, frozenset(workers), name, place, found.excluded)


def _keep_rows(table: pl.DataFrame, where: Mapping[str, str]) -> pl.DataFrame:
    for column, level in where.items():
        if column not in table.columns:
            raise InputError(
                f'there is no column "{column}" to choose rows by',
                remedy=f"The columns are: {', '.join(table.columns)}.",
            )
        texts = table[column].cast(pl.String).str.strip_chars()
        chosen = table.filter((texts == level).fill_null(value=False))
        if chosen.height == 0:
            known = ", ".join(texts.drop_nulls().unique(maintain_order=True).head(20).to_list())
            raise InputError(
                f'no row has {column} = "{level}"', remedy=f"Choose one of these: {known or 'none is there'}."
            )
        table = chosen
    return table


def _refuse_crossed_factors(table: pl.DataFrame, response: str) -> None:
    """Refuse factors besides the one whose levels are the versions: their effects are none of chance."""
    valid = table.filter(pl.col("valid").cast(pl.String).str.to_lowercase() == "true")
    if response:
        valid = valid.filter(pl.col("response") == response)
    names = list_tidy_factors(valid)
    if len(names) < 2:
        return
    others = [name for name in names if name != "package"] if "package" in names else list(names[1:])
    example = f"{others[0]}={valid[others[0]].cast(pl.String).drop_nulls()[0]}"
    raise InputError(
        f"{' and '.join(names)} vary, and versions are the levels of one of them",
        remedy=f"Choose a level of each other one, such as --where {example}. The bundle's report compares "
        "packages over all levels of the other factors.",
    )


def name_versions(sources: Sequence[VersionSource]) -> tuple[NestedValues, ...]:
    """All versions in the order of the arguments; those whose names clash get their file's name as well.

    Raises:
        InputError: the same file is given twice.
    """
    places = Counter(source.place for source in sources)
    twice = next((place for place, count in places.items() if count > 1), "")
    if twice:
        raise InputError("this is given twice", where=twice, remedy="Name each file once.")
    counts = Counter(item.version for source in sources for item in source.versions)
    titles = Counter(source.name for source in sources)
    found = []
    for source in sources:
        title = source.place if titles[source.name] > 1 else source.name
        for item in source.versions:
            name = item.version
            if counts[name] > 1:
                name = title if len(source.versions) == 1 else f"{title}: {name}"
            found.append(replace(item, version=name))
    return tuple(found)


def find_direction(sources: Sequence[VersionSource], response: str) -> Direction | None:
    """Which way is better, as the bundles' experiments say; None where none does.

    Raises:
        InputError: they contradict each other.
    """
    found = {
        item.direction
        for source in sources
        if source.experiment is not None
        for item in source.experiment.responses
        if item.name == response
    }
    if len(found) > 1:
        raise InputError(
            f"the experiments do not agree on whether higher or lower {response} is better",
            remedy="Say it by --direction.",
        )
    return next(iter(found), None)


def find_costs(sources: Sequence[VersionSource], measurements: float) -> RepetitionCosts | None:
    """What repetition took, as the first bundle among the sources tells; None where none does.

    `measurements` is how many there are in an execution.
    """
    for source in sources:
        if source.experiment is None:
            continue
        bundle = open_bundle(Path(source.place))
        try:
            found = measure_costs(bundle.read_records(), bundle.design, measurements=measurements)
        except InputError:
            # It cannot be split into executions and measurements, or nothing completed.
            continue
        return RepetitionCosts(found.build_s, found.execution_s, found.measurement_s, found.source)
    return None


def warn_of_sources(sources: Sequence[VersionSource]) -> tuple[str, ...]:
    """What else may have changed between versions that were not measured together."""
    if len(sources) < 2:
        return ()
    machines = sorted({worker for source in sources for worker in source.workers})
    text = (
        "the versions were not measured in one experiment: whatever else changed between the files, such as "
        "the time of day or the state of the machine, counts as a change of the version and is in no interval"
    )
    if len(machines) > 1 and len({source.workers for source in sources}) > 1:
        return (f"the machines differ ({', '.join(machines)}): a change may be theirs", text)
    return (text,)
