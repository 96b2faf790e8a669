"""What all verbs of `analyze` take: the data, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, get_args

import click

from datamill.analysis.contrasts.multiplicity import Adjustment
from datamill.cli.verbs import DataArgument
from datamill.experiment.errors import InputError
from datamill.verbs.analyses.analysis import Asked

where_option = click.option(
    "--where",
    multiple=True,
    metavar="NAME=LEVEL,…",
    help="Only rows with this level of a column, or one of several; repeatable.",
)


def parse_levels(option: str, given: Sequence[str]) -> dict[str, list[str]]:
    """Levels by column from texts such as `machine=atom,xeon` or `size=25MB,package=xz`.

    A part without `=` is one more level of the column before it.

    Raises:
        InputError: the first part names no column.
    """
    found: dict[str, list[str]] = {}
    for text in given:
        name = ""
        for part in text.split(","):
            before, sign, level = part.partition("=")
            name = before.strip() if sign else name
            chosen = (level if sign else part).strip()
            if not name or not chosen:
                raise InputError(
                    f'"{text}" does not say which levels of which column',
                    where=f"--{option}",
                    remedy="Write NAME=LEVEL, of several levels NAME=LEVEL,LEVEL.",
                )
            levels = found.setdefault(name, [])
            if chosen not in levels:
                levels.append(chosen)
    return found


def data_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Add DATA and the options that say what is asked; the verb gets `file` and `asked`."""

    @wraps(verb)
    def with_question(
        response: str,
        factors: str,
        covariates: str,
        formula: str,
        order: int | None,
        blocks: str,
        trial: str,
        run_order: str,
        where: tuple[str, ...],
        **rest: Any,
    ) -> None:
        asked = Asked(
            response=response,
            factors=_split(factors),
            covariates=_split(covariates),
            formula=formula,
            order=order,
            blocks=_split(blocks),
            trial=trial,
            run_order=run_order,
            where=parse_levels("where", where),
        )
        verb(asked=asked, **rest)

    options = [
        click.argument("file", metavar="DATA", cls=DataArgument, type=click.Path(path_type=Path)),
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
            "--blocks",
            metavar="A,B,…",
            default="",
            help="Columns of nuisance conditions (machine, boot, day): they enter additively, before all "
            "other terms, and are reported apart.",
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
        where_option,
    ]
    for option in reversed(options):
        with_question = option(with_question)
    return with_question


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


by_option = click.option(
    "--by",
    metavar="NAME",
    help="The same analysis for each level of a column, in one answer; all of them are certain together.",
)
confidence_option = click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, min_open=True, max_open=True),
    metavar="LEVEL",
    help="Level of the intervals [that of the bundle's experiment, else 0.95].",
)
adjust_option = click.option(
    "--adjust",
    type=click.Choice(get_args(Adjustment)),
    default="holm",
    show_default=True,
    help="How p-values account for their number: Holm, Benjamini-Hochberg, not at all.",
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="Seed of all that is drawn at random.",
)
