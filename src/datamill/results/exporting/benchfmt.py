"""Go's benchmark format, which benchstat reads: one line for each measurement of each trial."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import polars as pl

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.results.foreign.formats.benchfmt import RESPONSE_KEY, UNIT_KEY, find_imported_name
from datamill.results.tables.table import CONTEXT_PREFIX, TABLE_SCHEMA, count_put_aside

#: Keys that the testing package itself writes, without a prefix.
_MACHINE = ("goos", "goarch", "cpu")
_KEY = re.compile(r"[a-z][^\sA-Z:]*")
_ITERATIONS = f"{CONTEXT_PREFIX}iterations"
#: Context that speaks of the table's numbers before they were brought to seconds and bytes.
_REPORTED_UNIT = f"{CONTEXT_PREFIX}reported_unit"
_BASES = {"s": "sec"}
#: Columns of the tidy table that configuration lines show when they are constant.
_SHOWN = ("experiment", "worker", "isolation")


@dataclass(frozen=True, slots=True)
class BenchfmtText:
    """The text, the number of its results, and sentences about what it does not hold."""

    text: str
    results: int
    notes: tuple[str, ...]


def format_benchfmt(table: pl.DataFrame, factors: Sequence[str], *, source: str) -> BenchfmtText:
    """Write the valid rows of a tidy table, with all digits, a result for each measurement of a trial.

    A factor with several levels stands in the name (`Sort/size=100`), or in a configuration line when
    a level holds a stroke or a blank; what is constant stands in configuration lines. A trial ends
    with `PASS`, as a process of `go test` does. Units are the response's own where it is called after
    its unit (`sec/op`), else `NAME-UNIT` (`wall_time-sec`), with a line `Unit` that says which is which.

    Raises:
        InputError: no row is valid; names or units are told apart only by signs that the format cannot hold.
    """
    texts = [name for name in ("benchmark", "response", "unit", *factors) if name in table.columns]
    table = table.with_columns(pl.col(texts).cast(pl.String), pl.col("value").cast(pl.Float64))
    valid = table.filter(pl.col("valid") & pl.col("value").is_finite())
    if valid.height == 0:
        raise InputError("no row is valid", where=source, remedy="The column exclusion says why.")
    factors = [name for name in factors if name in valid.columns and name != "benchmark"]
    varied = [name for name in factors if valid[name].n_unique() > 1]
    unwieldy = [name for name in varied if valid[name].str.contains(r"[/\s]").any() and _KEY.fullmatch(name)]
    in_name = [name for name in varied if name not in unwieldy]
    # The number of processors belongs to the name (`Sort-8`), as the testing package writes it.
    constant = [
        name
        for name in factors
        if name not in varied and _KEY.fullmatch(name) and name not in ("file", "gomaxprocs")
    ]
    in_name += [name for name in factors if name not in (*varied, *constant, "file")]
    notes = []
    aside = count_put_aside(table)
    notes += [f"{count} rows are not written, because they are {kind}" for kind, count in aside.items()]
    excluded = table.height - valid.height - sum(aside.values())
    if excluded:
        notes.append(f"{excluded} rows that are not valid are not written")
    lines = list(_list_constants(valid, constant))
    names = _name_benchmarks(valid, in_name, source)
    units = _name_units(valid, source)
    lines += _list_unit_lines(units)
    identity = [name for name in ("experiment", "trial_id", "attempt") if name in valid.columns]
    rows = valid.with_columns(pl.Series("_name", names))
    shown: dict[str, str | None] = {}
    results = 0
    for _, trial in rows.group_by([*identity, "_name", *unwieldy], maintain_order=True):
        first = trial.row(0, named=True)
        for name in unwieldy:
            if shown.get(name) != first[name]:
                shown[name] = first[name]
                lines.append(f"{name}: {first[name] or ''}".rstrip())
        by_measurement: dict[tuple[int, int], dict[str, str]] = {}
        for row in trial.iter_rows(named=True):
            unit = units[row["response"], row["unit"]]
            # A second value of a response in one measurement gets a line of its own.
            place = (int(row.get("measurement") or 0), _count_iterations(row))
            held = by_measurement.setdefault(place, {})
            if unit in held:
                raise InputError(
                    f"trial {row['trial_id']} has two values of {row['response']} in measurement {place[0]}",
                    where=source,
                    remedy="Give every measurement of a trial its own number.",
                )
            held[unit] = format_number(row["value"])
        for (_, iterations), values in by_measurement.items():
            pairs = "\t".join(f"{value} {unit}" for unit, value in values.items())
            lines.append(f"Benchmark{first['_name']}\t{iterations}\t{pairs}")
            results += 1
        lines.append("PASS")
    return BenchfmtText("\n".join(lines) + "\n", results, tuple(notes))


def _name_units(valid: pl.DataFrame, source: str) -> dict[tuple[str, str | None], str]:
    """Return the unit that the format shows for each response and unit of a table.

    Raises:
        InputError: two that differ get the same.
    """
    named: dict[str, tuple[str, str]] = {}
    units = {}
    for response, unit in valid.select("response", "unit").unique(maintain_order=True).iter_rows():
        name = units[response, unit] = name_unit(response, unit)
        # What has no unit and what is a plain number are the same there.
        meant = (response, "" if unit in (None, "1") else unit)
        if named.setdefault(name, meant) != meant:
            raise InputError(
                f"{' in '.join(filter(None, named[name]))} and {' in '.join(filter(None, meant))} would both "
                f'be called "{name}"',
                where=source,
                remedy="Rename one of them, bring them to one unit, or choose with "
                f"{argument('response', verb='export')}.",
            )
    return units


def _list_unit_lines(units: Mapping[tuple[str, str | None], str]) -> list[str]:
    """A line about each unit that would come back as another response or unit than it was."""
    lines: dict[str, str] = {}
    for (response, unit), name in units.items():
        if find_imported_name(name) != (response, unit or ""):
            about = f"{RESPONSE_KEY}={_write_word(response)}"
            lines.setdefault(
                name, f"Unit {name} {about}" + (f" {UNIT_KEY}={_write_word(unit)}" if unit else "")
            )
    return list(lines.values())


def _write_word(text: str) -> str:
    """A text as one word: its blanks, and the sign that stands for them, as in an address of the web."""
    return re.sub(r"[\s%]", lambda sign: quote(sign[0]), text)


def _count_iterations(row: Mapping[str, Any]) -> int:
    known = row.get(_ITERATIONS)
    return 1 if known is None else int(known)


def name_unit(response: str, unit: str | None) -> str:
    """Return the unit that benchstat shows for a response: `sec/op`, `wall_time-sec`, `allocs/op`."""
    base, slash, below = (unit or "").partition("/")
    shown = f"{_BASES.get(base, base)}{slash}{below}"
    # What Go does not call by its base unit keeps the name that it came with, such as `s/op`.
    known = (shown, unit or shown)
    named = shown in ("", "1") or response in known or response.endswith(tuple(f"-{name}" for name in known))
    return re.sub(r"\s+", "_", response if named else f"{response}-{shown}")


def format_number(value: float) -> str:
    """Return the shortest decimal that reads back as the same double."""
    text = repr(float(value))
    return text.removesuffix(".0")


def _list_constants(valid: pl.DataFrame, factors: Sequence[str]) -> Sequence[str]:
    """Configuration lines for what is the same in all rows."""
    lines: dict[str, str] = {}
    for column in valid.columns:
        key = column
        if column.startswith(CONTEXT_PREFIX):
            name = column.removeprefix(CONTEXT_PREFIX)
            key = name if name in _MACHINE else column.lower()
        elif column not in _SHOWN and column not in factors:
            continue
        values = valid[column]
        if values.n_unique() > 1 or values[0] is None or column in (_ITERATIONS, _REPORTED_UNIT):
            continue
        text = " ".join(str(values[0]).split())
        if text and _KEY.fullmatch(key):
            lines.setdefault(key, text)
    return [f"{key}: {value}" for key, value in lines.items()]


def _name_benchmarks(valid: pl.DataFrame, factors: Sequence[str], source: str) -> list[str]:
    """Return the name of every row's benchmark, such as `Sort/size=100-8`.

    Raises:
        InputError: two design points get the same name.
    """
    base = next((name for name in ("benchmark", "experiment") if name in valid.columns), None)
    columns = ([base] if base else []) + list(factors)
    points = valid.select(columns).unique(maintain_order=True)
    named: dict[str, tuple[Any, ...]] = {}
    by_point: dict[tuple[Any, ...], str] = {}
    for row in points.iter_rows(named=True):
        name = _name_point(str(row[base] or "") if base else "", {key: row[key] for key in factors})
        key = tuple(row.values())
        if name in named:
            raise InputError(
                f'two design points would both be called "{name}"',
                where=source,
                remedy="Rename levels that differ in blanks or strokes only.",
            )
        named[name] = key
        by_point[key] = name
    return [by_point[row] for row in valid.select(columns).iter_rows()]


def _name_point(base: str, levels: Mapping[str, str | None]) -> str:
    name = re.sub(r"\s+", "_", base)
    for key, level in levels.items():
        if level is not None and key != "gomaxprocs":
            name += "/" + re.sub(r"[\s/]+", "_", f"{key}={level}")
    processors = levels.get("gomaxprocs")
    if processors is None and re.search(r"-[0-9]+$", name):
        # Without a number of processors benchstat would take the end of the name for it.
        processors = "1"
    return f"{name}-{processors}" if processors is not None else name


def list_level_columns(table: pl.DataFrame) -> list[str]:
    """Columns of a tidy table that hold levels of factors, the package among them."""
    return [
        name
        for name in table.columns
        if name == "package" or (name not in TABLE_SCHEMA and not name.startswith(CONTEXT_PREFIX))
    ]
