"""Nested measurements taken from a table: which belong to one execution, which executions to one build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from datamill.analysis.model_data.builds import number_builds, number_rows
from datamill.analysis.model_data.cells import FloatArray, IntArray
from datamill.analysis.model_data.columns import ROW, Lines, encode_factors, read_numbers, read_variable
from datamill.analysis.model_data.formula import Variable
from datamill.analysis.model_data.observations import list_tidy_factors
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import format_figures, format_given
from datamill.experiment.messages.suggestions import suggest_name
from datamill.results.tables.row_validity import is_tidy, read_validity
from datamill.results.tables.table import count_put_aside, leave_out_put_aside

#: Degrees of freedom need squares of variances, which beyond these are no floating-point numbers.
_SMALLEST, _LARGEST = 1e-70, 1e70
#: Factors whose levels say by themselves what they are.
_PLAIN_NAMES = ("package", "file", "benchmark")
#: Why the first version is the first where the table says so.
_DECLARED = "the first in the order that the table declares"


@dataclass(frozen=True, slots=True)
class NestingColumns:
    """Columns of a plain table that tell of nesting, as a user names them.

    An empty name means the usual one (`value`, `version`, `build`, `execution`, `measurement`, `unit`) where
    the table has it. `response` chooses among the responses of column `response`; in a table without that
    column it is another name of the column of values.
    """

    response: str = ""
    value: str = ""
    version: str = ""
    build: str = ""
    execution: str = ""
    measurement: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class NestedVersions:
    """The nested values of each version of one response, in the order of the versions.

    `excluded` counts rows of the response that were judged invalid, `put_aside` those that are no
    observations of the question, by what they are (`count_put_aside`). `first` says why the first version is
    the first, `interleaved` that rows of versions alternate, so that the order of first rows may be none.
    `notes` are warnings about columns that are not used.
    """

    versions: tuple[NestedValues, ...]
    excluded: int
    first: str = "the first in the data"
    interleaved: bool = False
    notes: tuple[str, ...] = ()
    put_aside: tuple[tuple[str, int], ...] = ()


def gather_nested(
    table: pl.DataFrame,
    columns: NestingColumns,
    *,
    levels: Mapping[str, Sequence[str]] | None = None,
    only_version: str = "all",
    source: str = "table",
    first_line: int | None = 2,
) -> NestedVersions:
    """Gather the values of one response by version, build and execution, each execution's in their order.

    A plain table has one row for each measurement. A column that it lacks is a level that is absent: without
    builds all is one build, without executions each build has one, without measurements the order is that
    of the rows. Without versions all is one, called `only_version`. Executions are counted within their
    build and builds within their version, so that numbers may start again. Versions come in the order that
    their column declares (an Enum's), else in that of their first rows.

    Of a tidy table, valid rows only; a version is a package, or with further factors a design point, in the
    order of `levels`; a trial is an execution. Trials with one `build_id` measured the same binaries: that,
    else column `build`, tells builds apart.

    Raises:
        InputError: a column is missing, a cell empty or not a number, units differ, there are several
            responses and none is chosen, or one measurement stands there twice; names file and line.
    """
    if is_tidy(table):
        return _gather_tidy(table, columns, levels or {}, source, first_line)
    return _gather_plain(table, columns, only_version, source, first_line)


def _gather_plain(
    table: pl.DataFrame, columns: NestingColumns, only_version: str, source: str, first_line: int | None
) -> NestedVersions:
    has_responses = "response" in table.columns and columns.value != "response"
    named = columns.value or ("" if has_responses else columns.response) or "value"
    places = {
        "value": named,
        "version": columns.version,
        "build": columns.build,
        "execution": columns.execution,
        "measurement": columns.measurement,
        "unit": columns.unit,
    }
    _refuse_missing(table, places, source)
    # A usual name that an option already gave another meaning has that one only.
    given = {column for column in places.values() if column}
    for role in places:
        if not places[role] and role in table.columns and role not in given:
            places[role] = role
    if table.height == 0:
        raise InputError("the table has no rows", where=source, remedy="Add one row for each measurement.")
    rows = np.arange(table.height)
    response = named
    if has_responses:
        response, chosen = _choose_response(table, columns.response, source)
        rows = np.flatnonzero(chosen)
        table = table.filter(pl.Series(chosen))
    lines = Lines(source, first_line, rows)
    values = read_variable(table, Variable(places["value"], places["value"]), lines)
    version_names, versions = _number_labels(table, places["version"], lines, only_version)
    unit = _find_unit(table, places["unit"], places["version"], response, version_names, versions, source)
    builds = _number_labels(table, places["build"], lines, "")[1]
    executions = _number_labels(table, places["execution"], lines, "")[1]
    notes = _warn_of_unused_columns(table, places)
    when = None
    if places["measurement"]:
        when = read_numbers(table[places["measurement"]], places["measurement"], lines)
        _refuse_repeated(versions, builds, executions, when, places, lines, notes)
    nested = _nest(response, unit, version_names, versions, builds, executions, when, values)
    if _declares_order(table, places["version"]):
        return NestedVersions(nested, 0, _DECLARED, notes=notes)
    return NestedVersions(nested, 0, interleaved=bool(np.any(np.diff(versions) < 0)), notes=notes)


def _gather_tidy(
    table: pl.DataFrame,
    columns: NestingColumns,
    levels: Mapping[str, Sequence[str]],
    source: str,
    first_line: int | None,
) -> NestedVersions:
    for option in ("value", "version", "build", "execution", "measurement", "unit"):
        given = getattr(columns, option)
        if given and given != option:
            raise InputError(
                f"{option} {given} cannot be chosen: this is datamill's own table, whose columns say what "
                "they are",
                where=source,
                remedy="Leave it out.",
            )
    table = read_validity(table, source, first_line)
    # The first response of a tidy table is the one that the experiment asks about.
    first = table["response"].drop_nulls().head(1).to_list()
    response, chosen = _choose_response(table, columns.response or "".join(first), source)
    numbered = table.with_row_index(ROW).filter(pl.Series(chosen))
    put_aside = tuple(count_put_aside(numbered).items())
    rows = leave_out_put_aside(numbered)
    of_valid = rows.filter(pl.col("valid").fill_null(value=False))
    valid = of_valid.drop(ROW)
    if valid.height == 0:
        raise InputError(
            f"none of the {rows.height} rows of response {response} is valid",
            where=source,
            remedy="The column exclusion says why.",
        )
    lines = Lines(source, first_line, of_valid[ROW].to_numpy())
    values = read_variable(valid, Variable(response, "value"), lines)
    names, versions = _number_points(valid, levels, lines)
    unit = _find_unit(valid, "unit" if "unit" in valid.columns else "", "", response, names, versions, source)
    identity = [name for name in ("experiment", "trial_id", "attempt") if name in valid.columns]
    executions = number_rows(valid.select(identity))
    builds = number_builds(valid)
    if builds is None:
        builds = np.zeros_like(executions)
    when = None
    if "measurement" in valid.columns and not valid["measurement"].null_count():
        when = read_numbers(valid["measurement"], "measurement", lines)
        _refuse_repeated(versions, builds, executions, when, {"execution": "trial_id"}, lines)
    nested = _nest(response, unit, names, versions, builds, executions, when, values, source)
    place, factors = "the first in the experiment's order", list_tidy_factors(valid)
    if not any(name in levels for name in factors):
        place = "the first by its name, for a table by itself does not tell the experiment's order"
        place = _DECLARED if any(_declares_order(valid, name) for name in factors) else place
    return NestedVersions(nested, rows.height - valid.height, place, put_aside=put_aside)


def _refuse_missing(table: pl.DataFrame, places: Mapping[str, str], source: str) -> None:
    named = [column for column in places.values() if column]
    for role, column in places.items():
        if not column:
            continue
        if column not in table.columns:
            near = suggest_name(column, table.columns)
            hint = (
                near if near.startswith("Did") else f"Say which column holds it ({argument(role, 'NAME')})."
            )
            raise InputError(
                f'there is no column "{column}" for the {role}',
                where=source,
                remedy=f"{hint} The columns are: {', '.join(table.columns)}.",
            )
        if named.count(column) > 1:
            raise InputError(
                f'column "{column}" is named twice', where=source, remedy="Name it for one purpose only."
            )


def _warn_of_unused_columns(table: pl.DataFrame, places: Mapping[str, str]) -> tuple[str, ...]:
    """Columns that may be those of builds or executions under another name, where these are missing."""
    missing = [role for role in ("build", "execution") if not places[role]]
    known = {*places.values(), "response"}
    # A column with one value tells nothing apart.
    unused = [name for name in table.columns if name not in known and table[name].n_unique() > 1]
    if not missing or not unused:
        return ()
    named = " and ".join(f"the one that tells {role}s apart with {argument(role)}" for role in missing)
    absent = " and ".join(f"{role}s" for role in missing)
    several = len(unused) > 1
    return (
        f"there is no column of {absent}, and column{'s' if several else ''} {', '.join(unused)} "
        f"{'are' if several else 'is'} not used: if there is such a column among them, name {tell(named)}",
    )


def _choose_response(table: pl.DataFrame, wanted: str, source: str) -> tuple[str, NDArray[np.bool_]]:
    """The response that is asked for, or the only one there is, and which rows are its."""
    texts = table["response"].cast(pl.String).str.strip_chars()
    known = texts.drop_nulls().unique(maintain_order=True).to_list()
    if wanted and wanted not in known:
        raise InputError(
            f'there is no response "{wanted}"', where=source, remedy=f"The responses are: {', '.join(known)}."
        )
    if not wanted and len(known) != 1:
        raise InputError(
            f"there are {len(known)} responses in column response",
            where=source,
            remedy=f"Choose one by {argument('response')}: {', '.join(known)}."
            if known
            else "Fill in their names, or remove the column.",
        )
    response = str(wanted or known[0])
    return response, (texts == response).fill_null(value=False).to_numpy()


def _number_labels(
    table: pl.DataFrame, column: str, lines: Lines, only: str
) -> tuple[tuple[str, ...], IntArray]:
    """The labels of a column in its declared order or that of first rows, and the number of each row's."""
    if not column:
        return (only,), np.zeros(table.height, dtype=np.int64)
    factors, codes = encode_factors(table, (column,), {}, lines)
    names, code = factors[0].levels, codes[0].astype(np.int64)
    if _declares_order(table, column):
        return names, code
    present, first = np.unique(code, return_index=True)
    place = np.zeros(len(names), dtype=np.int64)
    ordered = present[np.argsort(first)]
    place[ordered] = np.arange(len(ordered))
    return tuple(names[index] for index in ordered), place[code]


def _declares_order(table: pl.DataFrame, column: str) -> bool:
    """Whether the table itself says in which order the levels of a column are."""
    return isinstance(table.schema.get(column), pl.Enum)


def _number_points(
    valid: pl.DataFrame, levels: Mapping[str, Sequence[str]], lines: Lines
) -> tuple[tuple[str, ...], IntArray]:
    """The versions of a tidy table: packages, or design points; and the number of each row's."""
    names = list_tidy_factors(valid)
    if not names:
        return (str(valid["package"][0]) if "package" in valid.columns else "all",), np.zeros(
            valid.height, dtype=np.int64
        )
    factors, codes = encode_factors(valid, names, levels, lines)
    shape = tuple(len(factor.levels) for factor in factors)
    point = np.zeros(valid.height, dtype=np.int64)
    for size, code in zip(shape, codes, strict=True):
        point = point * size + code
    present, versions = np.unique(point, return_inverse=True)
    labels = []
    for number in present:
        at = np.unravel_index(int(number), shape)
        parts = [
            factor.levels[index] if factor.name in _PLAIN_NAMES else f"{factor.name}={factor.levels[index]}"
            for factor, index in zip(factors, at, strict=True)
        ]
        labels.append(", ".join(parts))
    return tuple(labels), versions.astype(np.int64)


def _find_unit(
    table: pl.DataFrame,
    column: str,
    version_column: str,
    response: str,
    names: Sequence[str],
    versions: IntArray,
    source: str,
) -> str:
    """The unit of all rows; empty where nobody said.

    Raises:
        InputError: there are several, so that no two values can be compared.
    """
    if not column:
        return ""
    texts = table[column].cast(pl.String).str.strip_chars().fill_null("")
    units = texts.unique(maintain_order=True).to_list()
    if len(units) == 1:
        return str(units[0])
    of_version = [
        (name, sorted(set(texts.filter(pl.Series(versions == number)).to_list())))
        for number, name in enumerate(names)
    ]
    mixed = next((item for item in of_version if len(item[1]) > 1), None)
    if mixed is not None:
        where = f" of {mixed[0]}" if version_column or len(names) > 1 else ""
        said = " and ".join(_quote_unit(unit) for unit in mixed[1])
        message = f"values of {response}{where} are in several units: {said}"
    else:
        first = of_version[0]
        other = next(item for item in of_version if item[1] != first[1])
        message = (
            f"{response} of {first[0]} is in {_quote_unit(first[1][0])}, of {other[0]} in "
            f"{_quote_unit(other[1][0])}: they cannot be compared"
        )
    raise InputError(message, where=source, remedy="Bring all values of a response to one unit.")


def _quote_unit(unit: str) -> str:
    return f'"{unit}"' if unit else "no unit"


def _refuse_repeated(
    versions: IntArray,
    builds: IntArray,
    executions: IntArray,
    when: FloatArray,
    places: Mapping[str, str],
    lines: Lines,
    notes: Sequence[str] = (),
) -> None:
    """Refuse one measurement that stands there twice: counted twice it would pass for more evidence."""
    order = np.lexsort((when, executions, builds, versions))
    same = np.ones(len(order) - 1, dtype=np.bool_)
    for column in (versions, builds, executions, when):
        same &= column[order][1:] == column[order][:-1]
    if same.any():
        at = int(np.argmax(same))
        row = int(max(order[at], order[at + 1]))
        missing = "" if places.get("execution") else " If executions differ, add a column execution."
        # Of builds that pass for one, measurements of the same number meet.
        missing = "".join(f" {note[:1].upper()}{note[1:]}." for note in notes) or missing
        raise InputError(
            f"measurement {format_given(when[row])} of the same execution stands there twice",
            where=lines.locate(row),
            remedy=f"Remove one of the two, or number them apart.{missing}",
        )


def _nest(
    response: str,
    unit: str,
    names: Sequence[str],
    versions: IntArray,
    builds: IntArray,
    executions: IntArray,
    when: FloatArray | None,
    values: FloatArray,
    source: str = "",
) -> tuple[NestedValues, ...]:
    """Order values by version, build, execution and measurement, and note where each begins.

    With a `source` a number is the same build of it in all versions.
    """
    largest = float(np.max(np.abs(values)))
    if largest != 0 and not _SMALLEST < largest < _LARGEST:
        raise InputError(
            f"values of {response} are up to {format_figures(largest, 2)}: their squares are beyond what "
            "can be counted",
            remedy="Give them in another unit.",
        )
    keys = (executions, builds, versions) if when is None else (when, executions, builds, versions)
    # lexsort keeps the order of rows where keys are equal.
    order = np.lexsort(keys)
    values = np.ascontiguousarray(values[order])
    versions, builds, executions = versions[order], builds[order], executions[order]
    found = []
    bounds = np.searchsorted(versions, np.arange(len(names) + 1))
    for number, name in enumerate(names):
        part = slice(bounds[number], bounds[number + 1])
        build, execution = builds[part], executions[part]
        new_build = np.append(True, build[1:] != build[:-1])
        new_execution = new_build | np.append(True, execution[1:] != execution[:-1])
        starts = np.flatnonzero(new_execution)
        firsts = np.flatnonzero(new_build[starts])
        found.append(
            NestedValues(
                version=name,
                response=response,
                unit=unit,
                values=values[part],
                executions=np.append(starts, len(build)).astype(np.int64),
                builds=np.append(firsts, len(starts)).astype(np.int64),
                build_names=tuple(f"{source}#{at}" for at in build[starts[firsts]]) if source else (),
            )
        )
    return tuple(found)
