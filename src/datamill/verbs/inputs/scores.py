"""Scores of a suite and times of an application: from files, bundles, or tables in memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datamill.platforms.scores.build_application import (
    build_application,
    find_copies,
    leave_out_namesakes,
    match_machines,
)
from datamill.platforms.scores.build_scores import build_scores, refuse_small
from datamill.platforms.scores.machine_facts import MachineFacts, build_facts
from datamill.platforms.scores.score_matrix import ApplicationTimes, ScoreMatrix
from datamill.verbs.inputs.data import locate_errors
from datamill.verbs.inputs.score_tables import load_scores_table


@dataclass(frozen=True, slots=True, eq=False)
class LoadedScores:
    """Scores of a suite; `notes` are sentences about the data, `source` names them in messages."""

    matrix: ScoreMatrix
    notes: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True, eq=False)
class LoadedApplication:
    """The application's times, the suite without the application itself, and sentences about the data."""

    times: ApplicationTimes
    matrix: ScoreMatrix
    notes: tuple[str, ...]


def load_scores(source: Any, *, machines: Any = None, response: str = "") -> LoadedScores:
    """Read scores, and what `machines` (a table with one row a machine) says of machines.

    `source` is the path of a table, a bundle, results of SPEC or of the Phoronix Test Suite (a file or a
    folder of them), a list of such paths, a table in memory, or a matrix that was read before. `response` is
    which one of a bundle's, else its first.

    Raises:
        InputError: the scores cannot be used; says where and what to do.
    """
    if isinstance(source, ScoreMatrix):
        return LoadedScores(source, (), "scores")
    facts = None if machines is None else _load_facts(machines)
    loaded = load_scores_table(source, "scores", response=response)
    with locate_errors(loaded.file, loaded.text_file):
        built = build_scores(loaded.table, source=loaded.file, first_line=loaded.first_line, facts=facts)
        refuse_small(built.matrix, loaded.file)
    notes = [*loaded.notes, *built.notes]
    if facts is not None and not set(facts.machines) & set(built.matrix.machines):
        notes.append("the table of machines has none of the machines of the scores")
    return LoadedScores(built.matrix, tuple(notes), loaded.place)


def read_scores(source: Any, *, machines: Any = None) -> ScoreMatrix:
    """As `load_scores`, without what is to be said of the data."""
    return load_scores(source, machines=machines).matrix


def load_application(
    source: Any, matrix: ScoreMatrix, *, name: str = "", response: str = ""
) -> LoadedApplication:
    """Read times of an application on machines of the scores; where it is in the suite, it is left out there.

    `source` and `response` as in `load_scores`; `name` says which application is meant, where there are
    several.

    Raises:
        InputError: the times cannot be used, or fewer than two machines or benchmarks are left.
    """
    notes: tuple[str, ...] = ()
    if isinstance(source, ApplicationTimes):
        times, place = source, "application"
    else:
        loaded = load_scores_table(source, "times", response=response)
        place = loaded.file
        with locate_errors(loaded.file, loaded.text_file):
            built = build_application(
                loaded.table,
                name=name,
                usual_name=Path(source).stem if isinstance(source, (str, Path)) else "application",
                source=loaded.file,
                first_line=loaded.first_line,
            )
        times, notes = built.times, (*loaded.notes, *built.notes)
    matched = match_machines(times, matrix, place)
    suite, said = leave_out_namesakes(matrix, times.name)
    if said or not suite.benchmarks:
        refuse_small(suite, place)
    copies = find_copies(suite, matched.times)
    return LoadedApplication(matched.times, suite, (*notes, *matched.notes, *said, *copies))


def read_application(source: Any, matrix: ScoreMatrix, *, name: str = "") -> ApplicationTimes:
    """As `load_application`, without the suite and what is to be said of the data."""
    return load_application(source, matrix, name=name).times


def _load_facts(machines: Any) -> MachineFacts:
    loaded = load_scores_table(machines, "machines")
    with locate_errors(loaded.file, loaded.text_file):
        return build_facts(loaded.table, source=loaded.file, first_line=loaded.first_line)
