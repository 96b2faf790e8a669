"""Versions to compare, from several files, bundles or tables: each with a name of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import polars as pl

from datamill.analysis.model_data.observations import list_tidy_factors
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.random_effects.nested_data.nesting import NestingColumns, gather_nested
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Direction, Experiment
from datamill.experiment.messages.arguments import argument
from datamill.experiment.responses import tell_formulas
from datamill.results.bundles.opening import open_bundle
from datamill.results.judgement.costs import RepetitionCosts, measure_costs
from datamill.results.judgement.replication_warnings import list_replication_warnings
from datamill.results.tables.row_validity import is_tidy, read_validity
from datamill.results.tables.table import CONTEXT_PREFIX
from datamill.verbs.inputs.data import locate_errors
from datamill.verbs.inputs.nested_data import load_table

#: Column of a plain table that says which way is better.
_DIRECTION = "direction"


@dataclass(frozen=True, slots=True, eq=False)
class VersionSource:
    """What one argument holds: its versions, and where they were measured.

    `experiment` is that of a bundle; `workers` are the machines that datamill's own table names. `name` is
    short, `place` the path as it was given. `first` says why its first version is the first, `interleaved`
    that rows of versions alternate; `notes` are warnings about the data. `put_aside` counts rows that are no
    observations, by what they are. `direction` is which way is better, where a column of a plain table says
    it.
    """

    versions: tuple[NestedValues, ...]
    experiment: Experiment | None
    workers: frozenset[str]
    name: str
    place: str
    excluded: int
    first: str
    interleaved: bool
    notes: tuple[str, ...]
    put_aside: tuple[tuple[str, int], ...]
    direction: Direction | None


def read_source(data: Any, columns: NestingColumns, where: Mapping[str, str], number: int) -> VersionSource:
    """Read one argument: a CSV or Parquet file, a bundle, or a table in memory, the `number`-th.

    Of a bundle packages are the versions, or the levels of the one factor that varies. `where` keeps the
    rows with these levels only.

    Raises:
        InputError: whatever keeps that from being done, and factors that vary besides; names the file.
    """
    loaded = load_table(data, f"table {number}")
    table, first_line = loaded.table, loaded.first_line
    name = loaded.place
    if isinstance(data, (str, Path)):
        name = Path(data).stem if loaded.experiment is None else Path(data).resolve().name
    columns = loaded.choose_response(columns)
    with locate_errors(loaded.place, loaded.text_file):
        if is_tidy(table):
            table = read_validity(table, loaded.place, first_line)
        if where:
            # Rows that are left out would make every number of a line wrong.
            table, first_line = _keep_rows(table, where), None
        if is_tidy(table):
            _refuse_crossed_factors(table, columns.response)
        found = gather_nested(
            table,
            columns,
            levels=loaded.levels,
            only_version=name,
            source=loaded.place,
            first_line=first_line,
        )
    workers = table["worker"].cast(pl.String).drop_nulls().unique() if "worker" in table.columns else ()
    return VersionSource(
        found.versions,
        loaded.experiment,
        frozenset(workers),
        name,
        loaded.place,
        found.excluded,
        found.first,
        found.interleaved,
        (*loaded.notes, *found.notes),
        found.put_aside,
        _find_stated_direction(table),
    )


def _find_stated_direction(table: pl.DataFrame) -> Direction | None:
    """The direction that a column of that name states alike in all rows, as the history of a gate does."""
    if is_tidy(table) or _DIRECTION not in table.columns or table[_DIRECTION].dtype != pl.String:
        return None
    stated = table[_DIRECTION].unique().to_list()
    return next((direction for direction in get_args(Direction) if stated == [direction]), None)


def _keep_rows(table: pl.DataFrame, where: Mapping[str, str]) -> pl.DataFrame:
    for name, level in where.items():
        column = name
        if name not in table.columns and is_tidy(table):
            # A factor with one level is a circumstance of an experiment, and varies in the one beside it.
            column = f"{CONTEXT_PREFIX}{name}"
        if column not in table.columns:
            raise InputError(
                f'there is no column "{name}" to choose rows by',
                remedy=f"The columns are: {', '.join(table.columns)}.",
            )
        texts = table[column].cast(pl.String).str.strip_chars()
        chosen = table.filter((texts == level).fill_null(value=False))
        if chosen.height == 0:
            known = ", ".join(texts.drop_nulls().unique(maintain_order=True).head(20).to_list())
            raise InputError(
                f'no row has {name} = "{level}"', remedy=f"Choose one of these: {known or 'none is there'}."
            )
        table = chosen
    return table


def _refuse_crossed_factors(table: pl.DataFrame, response: str) -> None:
    """Refuse factors besides the one whose levels are the versions: their effects are none of chance."""
    valid = table.filter("valid")
    if response:
        valid = valid.filter(pl.col("response") == response)
    names = list_tidy_factors(valid)
    if len(names) < 2:
        return
    others = [name for name in names if name != "package"] if "package" in names else list(names[1:])
    example = f"{others[0]}={valid[others[0]].cast(pl.String).drop_nulls()[0]}"
    raise InputError(
        f"{' and '.join(names)} vary, and versions are the levels of one of them",
        remedy=f"Choose a level of each other one, such as {argument('where', example)}. The bundle's "
        "report compares "
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


def explain_baseline(sources: Sequence[VersionSource]) -> str:
    """Why the first version is the baseline when none is named."""
    if len(sources[0].versions) == 1 or len(sources) > 1:
        return "the first given"
    return sources[0].first


def warn_of_order(sources: Sequence[VersionSource], series: bool) -> tuple[str, ...]:
    """Where the order of a series may not be that of its versions."""
    if not series:
        return ()
    return tuple(
        f"rows of different versions alternate in {source.place}: the series takes versions in the order of "
        f"their first rows ({_list_first(source.versions)}); if that is not the order they were made in, "
        "sort the rows by it"
        for source in sources
        if source.interleaved
    )


def _list_first(versions: Sequence[NestedValues]) -> str:
    names = ", ".join(item.version for item in versions[:4])
    return f"{names}, …" if len(versions) > 4 else names


def add_put_aside(sources: Sequence[VersionSource]) -> tuple[tuple[str, int], ...]:
    """Rows of all sources that are no observations, by what they are."""
    total: Counter[str] = Counter()
    for source in sources:
        total.update(dict(source.put_aside))
    return tuple(total.items())


def find_direction(sources: Sequence[VersionSource], response: str) -> Direction | None:
    """Which way is better, as the bundles' experiments or a table's column say; None where none does.

    Raises:
        InputError: they contradict each other.
    """
    found = {
        item.direction
        for source in sources
        if source.experiment is not None
        for item in source.experiment.responses
        if item.name == response
    } | {source.direction for source in sources if source.direction is not None}
    if len(found) > 1:
        raise InputError(
            f"the experiments do not agree on whether higher or lower {response} is better",
            remedy=f"Say it by {argument('direction')}.",
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
            return measure_costs(bundle.read_records(), bundle.design, measurements=measurements)
        except InputError:
            # It cannot be split into executions and measurements, or nothing completed.
            continue
    return None


def warn_of_sources(sources: Sequence[VersionSource]) -> tuple[str, ...]:
    """What repetition did not get, and what else may have changed between versions not measured together."""
    noted = [note for source in sources for note in source.notes]
    builds = [*noted, *(warning for source in sources for warning in _warn_of_repetition(source))]
    if len(sources) < 2:
        return tuple(builds)
    response = next((item.response for source in sources for item in source.versions), "")
    measured = [(item.name, item.experiment.responses) for item in sources if item.experiment is not None]
    if formulas := tell_formulas(response, measured):
        builds.append(f"{formulas}: a change may come of that")
    machines = sorted({worker for source in sources for worker in source.workers})
    text = (
        "the versions were not measured in one experiment: whatever else changed between the files, such as "
        "the time of day or the state of the machine, counts as a change of the version and is in no interval"
    )
    if len(machines) > 1 and len({source.workers for source in sources}) > 1:
        return (*builds, f"the machines differ ({', '.join(machines)}): a change may be theirs", text)
    return (*builds, text)


def _warn_of_repetition(source: VersionSource) -> tuple[str, ...]:
    """What a bundle's `[replication]` promised and did not get, such as builds that differ."""
    if source.experiment is None or source.experiment.replication is None:
        return ()
    bundle = open_bundle(Path(source.place))
    records = bundle.read_records()
    return list_replication_warnings(source.experiment, bundle.design, bundle.list_standing(records))
