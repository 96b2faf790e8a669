"""What is known of machines beside scores: numbers such as the clock, and which are built alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from datamill.analysis.model_data.columns import Lines
from datamill.experiment.errors import InputError
from datamill.platforms.scores.score_matrix import FloatArray
from datamill.platforms.scores.table_columns import read_names

#: Columns that say which machines are built alike, the most telling one first.
_FAMILIES = ("microarchitecture", "family")
#: Columns with a meaning of their own.
_OTHERS = ("machine", "benchmark", "replicate", "seconds", "score", "unit", "application")
#: Words in names of columns that hold results, which may have the application in them, or numbers that name.
_NO_FACT = re.compile(
    r"(^|[_\W])(id|key|index|row|line|year|date|time|times|seconds|score|scores|ratio|rate|result|rating|base|peak"
    r"|\w*mean|median|value|valid|trial|order)([_\W]|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, eq=False)
class MachineFacts:
    """Facts about machines: numbers by their name, NaN where one is not known, and families, maybe none."""

    machines: tuple[str, ...]
    numbers: Mapping[str, FloatArray]
    families: tuple[str, ...]

    def align(self, machines: Sequence[str]) -> MachineFacts:
        """The facts of these machines, in this order; facts that none of them has are left out."""
        places = {name: index for index, name in enumerate(self.machines)}
        rows = [places.get(name, -1) for name in machines]
        numbers = {
            name: np.array([values[row] if row >= 0 else np.nan for row in rows])
            for name, values in self.numbers.items()
        }
        families = tuple(self.families[row] if row >= 0 else "" for row in rows) if self.families else ()
        return MachineFacts(
            tuple(machines),
            {name: values for name, values in numbers.items() if np.isfinite(values).any()},
            families if any(families) else (),
        )

    def add(self, other: MachineFacts) -> MachineFacts:
        """These, and those of the other that these lack by name."""
        machines = tuple(dict.fromkeys((*self.machines, *other.machines)))
        mine, others = self.align(machines), other.align(machines)
        return MachineFacts(machines, {**others.numbers, **mine.numbers}, mine.families or others.families)


def gather_facts(table: pl.DataFrame, of_row: Sequence[str], machines: Sequence[str]) -> MachineFacts:
    """The facts in a table whose rows are of these machines: columns that are constant within each.

    Results are no facts, nor are numbers that only name, such as an id.
    """
    rows: dict[str, list[int]] = {name: [] for name in machines}
    for row, name in enumerate(of_row):
        rows[name].append(row)
    numbers: dict[str, FloatArray] = {}
    families: tuple[str, ...] = ()
    for name in table.columns:
        if name in _FAMILIES or name in _OTHERS or _NO_FACT.search(name):
            continue
        values = _read_plain_numbers(table[name])
        if values is None:
            continue
        constant = [_find_constant(values[rows[machine]]) for machine in machines]
        if all(value is not None for value in constant) and np.isfinite(values).any():
            numbers[name] = np.array([np.nan if value is None else value for value in constant])
    for column in _FAMILIES:
        if column in table.columns and not families:
            words = table[column].cast(pl.String, strict=False).fill_null("").str.strip_chars().to_list()
            families = tuple(
                next((words[row] for row in rows[machine] if words[row]), "") for machine in machines
            )
            families = families if any(families) else ()
    return MachineFacts(tuple(machines), numbers, families)


def build_facts(table: pl.DataFrame, *, source: str = "machines", first_line: int | None = 1) -> MachineFacts:
    """The facts in a table of machines, one row a machine.

    Raises:
        InputError: there is no column machine, or a machine has two rows.
    """
    if "machine" not in table.columns:
        raise InputError(
            "there is no column machine",
            where=source,
            remedy="Give a table with one row a machine: machine, and columns such as clock_mhz or family.",
        )
    lines = Lines(source, first_line)
    machines = read_names(table, "machine", lines)
    seen: dict[str, int] = {}
    for row, name in enumerate(machines):
        if seen.setdefault(name, row) != row:
            raise InputError(
                f"machine {name} has two rows", where=lines.locate(row), remedy="Leave one of them."
            )
    return gather_facts(table, machines, machines)


def _read_plain_numbers(series: pl.Series) -> FloatArray | None:
    """Numbers of a column, NaN where it is empty; None where it holds anything else."""
    if series.dtype == pl.Boolean:
        return None
    if series.dtype.is_numeric():
        return series.cast(pl.Float64).fill_null(float("nan")).to_numpy().copy()
    if series.dtype != pl.String:
        return None
    texts = series.str.strip_chars().replace("", None)
    found = texts.cast(pl.Float64, strict=False)
    if found.null_count() > texts.null_count() or found.null_count() == len(found):
        return None
    return found.fill_null(float("nan")).to_numpy().copy()


def _find_constant(values: FloatArray) -> float | None:
    """The one value, NaN where there is none, None where there are several."""
    known = values[np.isfinite(values)]
    if known.size == 0:
        return float("nan")
    return float(known[0]) if bool((known == known[0]).all()) else None
