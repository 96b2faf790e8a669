"""What all verbs of `analyze` have in common: the data, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from datamill.analysis.question import ModelData, Question, select_model_data
from datamill.experiment.errors import InputError
from datamill.experiment.records import Experiment
from datamill.results.bundle import open_bundle
from datamill.results.table_files import is_text_table, read_table_file


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """What a verb of `analyze` works on; `experiment` is that of a bundle."""

    selected: ModelData
    experiment: Experiment | None
    source: str


def data_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Add DATA and the options that say what is asked; the verb gets `file` and `question`."""

    @wraps(verb)
    def with_question(
        response: str,
        factors: str,
        covariates: str,
        formula: str,
        order: int | None,
        trial: str,
        run_order: str,
        **rest: Any,
    ) -> None:
        question = Question(response, _split(factors), _split(covariates), formula, order, trial, run_order)
        verb(question=question, **rest)

    options = [
        click.argument("file", metavar="DATA", type=click.Path(path_type=Path)),
        click.option(
            "--response", metavar="NAME", default="", help="Column (of a bundle: response) to explain."
        ),
        click.option(
            "--factors", metavar="A,B,…", default="", help="Columns that explain it, separated by commas."
        ),
        click.option(
            "--covariates", metavar="X,…", default="", help="Columns of numbers that explain it by a slope."
        ),
        click.option(
            "--formula",
            metavar="FORMULA",
            default="",
            help='The model instead, such as "latency ~ sched * machine + log(size)"; columns of text are '
            "factors, of numbers covariates unless C(column).",
        ),
        click.option(
            "--order",
            type=click.IntRange(min=1),
            metavar="N",
            help="Interactions of up to N factors [that of the bundle's experiment, else all of them for "
            "3 factors or fewer, else 2].",
        ),
        click.option(
            "--trial",
            metavar="NAME",
            default="",
            help="Column that tells trials apart, if one has many rows.",
        ),
        click.option(
            "--run-order", metavar="NAME", default="", help="Column that says when observations came."
        ),
    ]
    for option in reversed(options):
        with_question = option(with_question)
    return with_question


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def read_data(file: Path, question: Question, *, average: bool = True) -> Data:
    """Read a table or bundle, and select the observations that are asked for.

    Raises:
        InputError: whatever keeps that from being done; names the file.
    """
    if file.is_dir():
        bundle = open_bundle(file)
        table_file = file / "table.parquet"
        experiment = bundle.experiment
        if not question.response and not question.formula.partition("~")[1]:
            question = _name_first_response(question, experiment)
        with locate_errors(str(table_file)):
            selected = select_model_data(
                read_table_file(table_file),
                question,
                levels={factor.name: factor.levels for factor in bundle.design.factors},
                usual_order=experiment.interaction_order,
                average=average,
                source=str(table_file),
            )
        return Data(selected, experiment, str(file))
    table = read_table_file(file)
    with locate_errors(str(file)):
        first_line = 2 if is_text_table(file) else 1
        selected = select_model_data(
            table, question, average=average, source=str(file), first_line=first_line
        )
    return Data(selected, None, str(file))


def _name_first_response(question: Question, experiment: Experiment) -> Question:
    return Question(
        experiment.responses[0].name,
        question.factors,
        question.covariates,
        question.formula,
        question.order,
        question.trial,
        question.run_order,
    )


@contextmanager
def locate_errors(source: str) -> Iterator[None]:
    """Say which file an error is about, where the error does not say so itself."""
    try:
        yield
    except InputError as error:
        raise InputError(error.message, where=error.where or source, remedy=error.remedy) from None
