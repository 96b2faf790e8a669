"""`datamill platforms evaluate`: how well strategies predict machines."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import get_args

import click

from datamill.cli.platforms.part_progress import PartProgress
from datamill.cli.tables.data import confidence_option, seed_option
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files
from datamill.cli.tables.working import KEY
from datamill.cli.verbs import DataArgument
from datamill.experiment.errors import InputError
from datamill.platforms.strategies.registry import STRATEGIES
from datamill.verbs.platforms import evaluate as evaluation
from datamill.verbs.platforms.evaluate import Picture

_RANGE = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?")


@click.command(short_help="How well strategies predict: each benchmark held out as the application.")
@click.argument("scores", metavar="SCORES", cls=DataArgument, type=click.Path(path_type=Path))
@click.option(
    "--machines",
    "machines_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Table of what is known of machines, one row a machine; clock needs its column clock_mhz.",
)
@click.option(
    "--pool",
    metavar="A,B,…",
    multiple=True,
    help="Machines to train on and to predict [all]; may be given several times.",
)
@click.option(
    "--strategy",
    "strategies",
    metavar="A,B,…",
    default=",".join(evaluation.USUAL_STRATEGIES),
    show_default=True,
    help=f"Strategies to evaluate, of: {', '.join(STRATEGIES)}.",
)
@click.option(
    "--limits",
    metavar="1-5",
    default="",
    help="Also evaluate strategies that choose predictors with at most so many.",
)
@click.option(
    "--sizes",
    metavar="3-14",
    default="",
    help="Numbers of machines to train on, such as 3-14 or 3,5,7 [3 to 14, or one less than there are].",
)
@click.option(
    "--at",
    type=click.IntRange(min=2),
    metavar="SIZE",
    help="Size that the first table, thresholds and the worst models are of [the largest].",
)
@click.option(
    "--draws",
    metavar="N",
    default=str(evaluation.USUAL_DRAWS),
    show_default=True,
    help='Sets of machines of each size that are drawn to train on, or "all".',
)
@seed_option
@confidence_option
@click.option(
    "--out",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Keep finished parts in this folder; a second start goes on from them.",
)
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes that compute at once [one for each processor].",
)
@click.option(
    "--picture",
    type=click.Choice(get_args(Picture)),
    default="errors",
    show_default=True,
    help="What --figure draws: errors by size, mean errors, thresholds on adjusted R², limits on predictors, "
    "the tree of benchmarks, their lines over machines, or models of one predictor.",
)
@output_options("Draw what --picture names")
def evaluate(
    scores: Path,
    machines_file: Path | None,
    pool: tuple[str, ...],
    strategies: str,
    limits: str,
    sizes: str,
    at: int | None,
    draws: str,
    seed: int,
    confidence: float | None,
    folder: Path | None,
    processes: int | None,
    picture: Picture,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Say how far strategies err, each benchmark of SCORES held out as the application in turn.

    It is predicted from the other benchmarks, trained on some machines, on all others of the pool: the
    evaluation of the thesis (2015, chapter 7) for any scores. All sets of machines of a size are trained on,
    or as many as --draws says.

    \b
      datamill platforms evaluate scores.csv
      datamill platforms evaluate scores.csv --draws all --out evaluation --html evaluation.html
      datamill platforms evaluate scores.csv --strategy mallows-cp,clusters --sizes 3-7 --limits 1-6
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    # The progress says more than that something works.
    working = click.get_current_context().meta.get(KEY)
    if working is not None:
        working.stop()
    progress = PartProgress()
    try:
        result = evaluation.evaluate_platforms(
            scores,
            machines=machines_file,
            pool=pool,
            strategy=_split(strategies),
            limits=_list_numbers("--limits", limits),
            sizes=_list_numbers("--sizes", sizes),
            at=at,
            draws=_take_draws(draws),
            seed=seed,
            confidence=confidence,
            out=folder,
            processes=processes,
            listener=progress.hear,
        )
    finally:
        progress.stop()
    put_out(
        result,
        figure_file=figure_file,
        html_file=html_file,
        as_json=as_json,
        draw=partial(result.figure, picture),
    )


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _list_numbers(option: str, given: str) -> tuple[int, ...]:
    """`3-5,7` as 3, 4, 5, 7."""
    found: list[int] = []
    for part in _split(given):
        ends = _RANGE.fullmatch(part)
        if ends is None or (ends[2] and int(ends[2]) < int(ends[1])):
            raise InputError(
                f'"{part}" is neither a number nor a range', where=option, remedy="Write 3-14 or 3,5,7."
            )
        found += range(int(ends[1]), int(ends[2] or ends[1]) + 1)
    return tuple(found)


def _take_draws(given: str) -> int | None:
    if given == "all":
        return None
    if not given.isascii() or not given.isdigit() or int(given) < 1:
        raise InputError(
            f'"{given}" is not a number of sets', where="--draws", remedy='Give one, such as 500, or "all".'
        )
    return int(given)
