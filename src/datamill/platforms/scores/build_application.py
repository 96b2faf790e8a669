"""From a table of measurements to the application's times by machine, as a suite can use them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl

from datamill.analysis.model_data.columns import Lines
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.phrases import count_nouns
from datamill.experiment.messages.suggestions import suggest_name
from datamill.platforms.scores.build_scores import average_logarithms, number_names
from datamill.platforms.scores.score_matrix import ApplicationTimes, ScoreMatrix
from datamill.platforms.scores.table_columns import (
    name_some,
    read_names,
    read_values,
    refuse_missing_columns,
    refuse_mixed_units,
    refuse_repeated,
)

#: Columns that may name the application.
_NAMES = ("application", "benchmark")
#: The number that suites put before a benchmark's name.
_NUMBERED = re.compile(r"^\d+\.")
#: Machines that the suite knows and that measured the application; from fewer nothing is learned.
FEWEST_MACHINES = 2
#: Equal times on fewer machines may be chance, where clocks are coarse.
_FEWEST_EQUAL = 3


@dataclass(frozen=True, slots=True, eq=False)
class BuiltApplication:
    """Times of the application, and sentences about what was left out."""

    times: ApplicationTimes
    notes: tuple[str, ...]


def build_application(
    table: pl.DataFrame,
    *,
    name: str = "",
    usual_name: str = "application",
    source: str = "times",
    first_line: int | None = 1,
) -> BuiltApplication:
    """Build the times of one application from columns machine, seconds or score, and maybe replicate.

    A column `application` or `benchmark` names it, else `usual_name`; where it names several, `name` says
    which one is meant.

    Raises:
        InputError: as `build_scores`; the table has several applications and `name` is none of them.
    """
    refuse_missing_columns(table, ("machine",), source)
    lines = Lines(source, first_line)
    column = next((item for item in _NAMES if item in table.columns), "")
    found = read_names(table, column, lines) if column else [name or usual_name] * table.height
    known = list(dict.fromkeys(found))
    chosen = name or known[0]
    if chosen not in known:
        raise InputError(f'there is no application "{name}"', where=source, remedy=suggest_name(name, known))
    if not name and len(known) > 1:
        raise InputError(
            f"column {column} names {len(known)} applications: {name_some(known)}",
            where=source,
            remedy=f"Say with {argument('name', 'NAME')} which one is meant.",
        )
    rows = np.flatnonzero([item == chosen for item in found])
    table = table[rows]
    lines = Lines(source, first_line, rows)
    machines = read_names(table, "machine", lines)
    values = read_values(table, lines)
    refuse_repeated(table, (machines,), "machine", lines)
    refuse_mixed_units(table, [chosen] * table.height, "application", lines)
    measured = np.isfinite(values.times)
    kinds = set(values.of_seconds[measured].tolist())
    if len(kinds) > 1:
        raise InputError(
            "some rows have seconds and others a score",
            where=source,
            remedy="Give one of the two for all machines: a score cannot be made seconds.",
        )
    names, numbers = number_names(machines)
    seconds, noise = average_logarithms(values.times, numbers, len(names))
    kept = np.isfinite(seconds)
    empty = [item for item, some in zip(names, kept, strict=True) if not some]
    notes = [f"{chosen} has no value on {name_some(empty)}: not measured there"] if empty else []
    times = ApplicationTimes(
        name=chosen,
        machines=tuple(item for item, some in zip(names, kept, strict=True) if some),
        seconds=seconds[kept],
        noise=noise[kept],
        kind="seconds" if kinds == {True} else "score",
    )
    return BuiltApplication(times, tuple(notes))


def match_machines(application: ApplicationTimes, matrix: ScoreMatrix, source: str) -> BuiltApplication:
    """The times on machines that the suite knows; others are left out, and named.

    Raises:
        InputError: fewer than two machines remain.
    """
    known = set(matrix.machines)
    strange = [name for name in application.machines if name not in known]
    kept = [index for index, name in enumerate(application.machines) if name in known]
    if len(kept) < FEWEST_MACHINES:
        told = (
            f"the scores have no machine {name_some(strange)}"
            if strange
            else f"{application.name} was measured on one machine only"
        )
        raise InputError(
            f"{told}: {count_nouns(len(kept), 'machine')} with times and scores "
            f"{'is' if len(kept) == 1 else 'are'} left",
            where=source,
            remedy=f"Measure {application.name} on two machines of the scores or more (seven are a good "
            f"start); they are: {name_some(matrix.machines)}.",
        )
    notes = (
        (
            f"the scores do not have {name_some(strange)}: "
            f"{'its time is' if len(strange) == 1 else 'their times are'} left out",
        )
        if strange
        else ()
    )
    times = ApplicationTimes(
        name=application.name,
        machines=tuple(application.machines[index] for index in kept),
        seconds=application.seconds[kept],
        noise=application.noise[kept],
        kind=application.kind,
    )
    return BuiltApplication(times, notes)


def leave_out_namesakes(matrix: ScoreMatrix, application: str) -> tuple[ScoreMatrix, tuple[str, ...]]:
    """The suite without the application itself, under its name or with a suite's number before it.

    What the suite knows of it on the targets is what is to be predicted. Returns the suite, and a sentence
    where something was left out.
    """
    plain = _strip_number(application)
    same = [name for name in matrix.benchmarks if name == application or _strip_number(name) == plain]
    exact = [name for name in same if name == application]
    # Suites have benchmarks of one name and several numbers, of which the application is one.
    left_out = exact or same
    if not left_out:
        return matrix, ()
    kept = [name for name in matrix.benchmarks if name not in left_out]
    if not kept:
        return matrix.keep_benchmarks([]), ()
    note = (
        f"the suite has {name_some(left_out)}, which is the application itself: it is left out, and its "
        "scores on the machines to predict are not used"
    )
    return matrix.keep_benchmarks(kept), (note,)


def find_copies(matrix: ScoreMatrix, times: ApplicationTimes) -> tuple[str, ...]:
    """A sentence where a benchmark has the very times of the application, on three known machines or more.

    It may be the application under another name; then its scores on the targets are what is predicted.
    """
    if len(times.machines) < _FEWEST_EQUAL:
        return ()
    there = matrix.keep_machines(times.machines).seconds
    equal = np.all(np.isclose(there, times.seconds[:, None], rtol=1e-12, atol=0), axis=0)
    copies = [name for place, name in enumerate(matrix.benchmarks) if equal[place]]
    if not copies:
        return ()
    return (
        f"{name_some(copies)} took exactly as long as {times.name} wherever that was measured: if it is "
        "the same "
        "program, leave it out of the scores, or nothing is predicted but what is known",
    )


def _strip_number(name: str) -> str:
    return _NUMBERED.sub("", name.strip().lower())
