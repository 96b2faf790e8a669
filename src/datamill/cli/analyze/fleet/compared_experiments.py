"""`datamill compare --experiment`: results of a coordinator's experiments, which it compares itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import click
import msgspec

from datamill.cli.console import clean_for_terminal, escape_for_terminal, print_clean
from datamill.cli.coordinator.coordinator_client import CoordinatorClient, Parameter
from datamill.cli.tables.output import stop_working
from datamill.conduct.fleet.coordinator_records import read_record
from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import join_names
from datamill.protocol.api.experiments import ComparisonHead
from datamill.report.figures.figure import refuse_suffix
from datamill.verbs.inputs.nested_data import AskedNested

#: Endings of files that a coordinator draws.
_FIGURES = (".svg", ".png", ".json")
#: Drawing begins when the comparison is there, which may have to wait for those of others.
_WAIT_S = 600.0


@dataclass(frozen=True, slots=True)
class AnsweredComparison:
    """What a coordinator was asked, and its answer: all of it as JSON, and what a command needs of it."""

    question: Mapping[str, Parameter]
    content: bytes
    head: ComparisonHead


def refuse_files_beside(
    files: Sequence[Path], columns: AskedNested, figure_file: Path | None, html_file: Path | None
) -> None:
    """Refuse what goes with files alone, before the coordinator is asked.

    Raises:
        InputError: files are named as well, columns of tables, a page, or a figure that the coordinator does
            not draw.
    """
    remedy = "Take the bundles home with datamill fetch ID, and compare these."
    if files:
        raise InputError(
            "experiments of a coordinator are not compared with files", where="--experiment", remedy=remedy
        )
    named = [name for name, column in columns.items() if column and name != "response"]
    if named:
        raise InputError(
            "it names a column, and experiments have the coordinator's own table",
            where=f"--{named[0]}",
            remedy="Leave it out.",
        )
    if html_file is not None:
        raise InputError("the coordinator sends no page of a comparison", where="--html", remedy=remedy)
    if figure_file is not None:
        refuse_suffix(figure_file, _FIGURES, "a figure of a coordinator")


def build_question(
    experiments: Sequence[int], levels: Mapping[str, str], **given: str | float | None
) -> dict[str, Parameter]:
    """Return what the coordinator is asked, without what was not given."""
    question: dict[str, Parameter] = {
        "experiment": list(experiments),
        "where": [f"{name}={level}" for name, level in levels.items()],
    }
    return question | {name: value for name, value in given.items() if value is not None and value != ""}


def ask_comparison(coordinator: CoordinatorClient, question: Mapping[str, Parameter]) -> AnsweredComparison:
    """Have the coordinator compare experiments.

    Raises:
        InputError: it refuses, or its answer cannot be understood.
    """
    raw = coordinator.get("/compare", msgspec.Raw, **question)
    return AnsweredComparison(question, bytes(raw), read_record(bytes(raw), ComparisonHead, "/api/compare"))


def find_unchosen(head: ComparisonHead, levels: Iterable[str]) -> dict[str, str]:
    """Return what the coordinator chose where there were others: all in `where` but these names."""
    asked = set(levels)
    return {name: level for name, level in head.where.items() if name in head.choices and name not in asked}


def tell_unchosen(unchosen: Mapping[str, str]) -> None:
    """Say on standard error at what the coordinator compared, where nobody chose it."""
    if unchosen:
        print_clean(
            f"datamill: compared at {_spell_where(unchosen)}, which nobody chose: name another with --where",
            err=True,
        )


def refuse_unchosen(head: ComparisonHead, unchosen: Mapping[str, str]) -> None:
    """Refuse a status that would rest on what the coordinator chose.

    Raises:
        InputError: something was chosen where there were others.
    """
    if not unchosen:
        return
    had = [f"{name} has {join_names(head.choices[name])}." for name in unchosen]
    raise InputError(
        f"nobody chose {join_names(tuple(unchosen))}, and others may have changed for the worse",
        where="--check",
        remedy=f"Choose with {_spell_where(unchosen)}, or others: {' '.join(had)}",
    )


def _spell_where(levels: Mapping[str, str]) -> str:
    return " ".join(f"--where {shlex.quote(f'{name}={level}')}" for name, level in levels.items())


def put_out_comparison(
    coordinator: CoordinatorClient, answered: AnsweredComparison, *, figure_file: Path | None, as_json: bool
) -> None:
    """Write the first figure of a comparison, and print it.

    Raises:
        InputError: the figure does not come.
    """
    if figure_file is not None:
        kind = figure_file.suffix.lower().removeprefix(".")
        address = f"/compare/figures/0.{kind}?{urlencode(answered.question, doseq=True)}"
        with coordinator.stream_made(address, _WAIT_S) as answer:
            figure_file.write_bytes(b"".join(answer.iter_bytes()))
    stop_working()
    form = answered.question.get("form")
    shown = (
        escape_for_terminal(answered.content.decode()) if as_json else clean_for_terminal(answered.head.text)
    )
    click.echo(shown, nl=as_json or form in ("text", "verbose"))
