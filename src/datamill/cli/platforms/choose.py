"""`datamill platforms choose`: machines to measure on, and benchmarks that a suite can do without."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.platforms.platform_options import machine_options, scores_argument
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files
from datamill.verbs.platforms.choose import choose_machines


@click.command(short_help="Which machines should it be measured on?")
@scores_argument
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="How many machines to choose.")
@click.option(
    "--always",
    multiple=True,
    metavar="NAME",
    help="A machine that is among them; may be given several times.",
)
@click.option(
    "--among",
    multiple=True,
    metavar="NAME",
    help="A machine that may be chosen; may be given several times [every machine].",
)
@click.option("--shrink", is_flag=True, help="Also find the benchmarks that the others predict.")
@click.option(
    "--loss",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    metavar="SHARE",
    help="With --shrink: median error with which a benchmark that is left out may be predicted.",
)
@machine_options
@output_options("Draw what is left unexplained as machines are added")
def choose(
    scores: Path | list[Path],
    count: int | None,
    always: tuple[str, ...],
    among: tuple[str, ...],
    shrink: bool,
    loss: float,
    machines: Path | None,
    response: str,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Choose machines of SCORES to measure an application on: those that tell most about the others.

    SCORES is as in `datamill platforms predict`. Nothing of the application is needed.

    \b
      datamill platforms choose scores.csv --count 7
      datamill platforms choose scores.csv --count 7 --always my-laptop --figure choice.svg
      datamill platforms choose scores.csv --shrink --loss 0.05
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    result = choose_machines(
        scores,
        count,
        always=always,
        among=among or None,
        shrink=shrink,
        loss=loss,
        machines=machines,
        response=response,
    )
    put_out(result, figure_file=figure_file, html_file=html_file, as_json=as_json)
