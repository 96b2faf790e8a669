"""From a table of measurements to the matrix of a suite's times by machine and benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from datamill.analysis.model_data.columns import Lines
from datamill.experiment.errors import InputError
from datamill.platforms.scores.machine_facts import MachineFacts, gather_facts
from datamill.platforms.scores.score_matrix import FloatArray, IntArray, ScoreMatrix
from datamill.platforms.scores.table_columns import (
    name_some,
    read_names,
    read_values,
    refuse_missing_columns,
    refuse_mixed,
    refuse_mixed_units,
    refuse_repeated,
)


@dataclass(frozen=True, slots=True, eq=False)
class BuiltScores:
    """Scores of a suite, and sentences about what the table lacked or what was left out."""

    matrix: ScoreMatrix
    notes: tuple[str, ...]


def build_scores(
    table: pl.DataFrame,
    *,
    source: str = "table",
    first_line: int | None = 1,
    facts: MachineFacts | None = None,
) -> BuiltScores:
    """Build the matrix of a table with columns machine, benchmark, seconds or score, and maybe replicate.

    Further numeric columns that are constant within each machine are facts about it, unless `facts` has
    some of that name. Machines and benchmarks stay in the order of the table. `source` and `first_line`
    are for messages.

    Raises:
        InputError: a column is missing, a value is no positive number, a row repeats another, or a benchmark
            mixes seconds and scores or units.
    """
    refuse_missing_columns(table, ("machine", "benchmark"), source)
    lines = Lines(source, first_line)
    machines = read_names(table, "machine", lines)
    benchmarks = read_names(table, "benchmark", lines)
    values = read_values(table, lines)
    refuse_repeated(table, (machines, benchmarks), "benchmark", lines)
    refuse_mixed(benchmarks, values, "benchmark", lines)
    refuse_mixed_units(table, benchmarks, "benchmark", lines)
    names, rows = number_names(machines)
    columns, places = number_names(benchmarks)
    seconds, noise = average_logarithms(values.times, rows * len(columns) + places, len(names) * len(columns))
    shape = (len(names), len(columns))
    known = np.isfinite(values.times)
    own = gather_facts(table, machines, names)
    found = own if facts is None else facts.add(own)
    aligned = found.align(names)
    matrix = ScoreMatrix(
        machines=names,
        benchmarks=columns,
        seconds=seconds.reshape(shape),
        noise=noise.reshape(shape),
        kind="seconds" if bool(values.of_seconds[known].all()) else "score",
        facts=aligned.numbers,
        families=aligned.families,
    )
    return _describe(matrix)


def number_names(names: Sequence[str]) -> tuple[tuple[str, ...], IntArray]:
    """The distinct names in the order of their first row, and the number of each row's name among them."""
    numbers = {name: index for index, name in enumerate(dict.fromkeys(names))}
    return tuple(numbers), np.array([numbers[name] for name in names], dtype=np.int64)


def average_logarithms(times: FloatArray, cells: IntArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Geometric means of the times by cell, and standard errors of their logarithms.

    NaN where a cell has no time; the error is NaN where it has one only.
    """
    known = np.isfinite(times)
    logs, of_cell = np.log(times[known]), cells[known]
    numbers = np.bincount(of_cell, minlength=count)
    # About one value of each cell, so that equal ones have no error at all.
    first = np.zeros(count)
    first[of_cell[::-1]] = logs[::-1]
    deviations = logs - first[of_cell]
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.bincount(of_cell, deviations, count) / numbers
        squares = np.bincount(of_cell, (deviations - means[of_cell]) ** 2, count)
        noise = np.sqrt(squares / (numbers - 1) / numbers)
    noise[numbers < 2] = np.nan
    centre = np.zeros(count)
    centre[of_cell[::-1]] = times[known][::-1]
    # Not exp(log(x)), which differs from x in its last digits.
    seconds = np.where(numbers > 0, centre * np.exp(means), np.nan)
    return seconds, noise


def _describe(matrix: ScoreMatrix) -> BuiltScores:
    """The matrix without benchmarks that have no value, and what is to be said about it."""
    notes: list[str] = []
    known = np.isfinite(matrix.seconds)
    empty = [name for index, name in enumerate(matrix.benchmarks) if not known[:, index].any()]
    if empty:
        matrix = matrix.keep_benchmarks([name for name in matrix.benchmarks if name not in empty])
        known = np.isfinite(matrix.seconds)
        notes.append(f"no machine has a value of {name_some(empty)}, which are left out of the suite")
    constant = [
        name for index, name in enumerate(matrix.benchmarks) if _is_constant(matrix.seconds[:, index])
    ]
    if constant:
        notes.append(
            f"{name_some(constant)}: the same on every machine, which says nothing about how machines differ"
        )
    return BuiltScores(matrix, tuple(notes))


def _is_constant(column: FloatArray) -> bool:
    known = column[np.isfinite(column)]
    return known.size > 1 and bool(np.ptp(known) <= 1e-12 * float(known[0]))


def refuse_small(matrix: ScoreMatrix, source: str) -> None:
    """Refuse a suite that cannot predict anything: of one machine, or of one benchmark.

    Raises:
        InputError: it is one.
    """
    if len(matrix.machines) < 2:
        raise InputError(
            f"the scores are of one machine only, {matrix.machines[0]}",
            where=source,
            remedy="Give those of the machines that measured the application and of those to predict.",
        )
    if len(matrix.benchmarks) < 2:
        raise InputError(
            "the suite has one benchmark only"
            + (f", {matrix.benchmarks[0]}" if matrix.benchmarks else " or none besides the application"),
            where=source,
            remedy="Give scores of two benchmarks or more: what they say of machines is compared.",
        )
