"""`datamill analyze variability`: coefficients of variation and skewness, and what changes them."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from datamill.analysis.contrasts.multiplicity import Adjustment
from datamill.analysis.distribution.variability import Assumption
from datamill.cli.tables.data import adjust_option, by_option, confidence_option, data_options, seed_option
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files
from datamill.verbs import variability as analysis
from datamill.verbs.analyses.analysis import Asked


@click.command(short_help="Coefficient of variation and skewness, and whether a factor changes them.")
@data_options
@by_option
@click.option(
    "--assume",
    type=click.Choice(get_args(Assumption)),
    default="nothing",
    show_default=True,
    help="What you know of the observations of a design point: decides how intervals are found.",
)
@adjust_option
@click.option(
    "--window",
    type=click.IntRange(min=3),
    metavar="N",
    help="Take windows of N consecutive observations (order: --run-order, else rows), with --against.",
)
@click.option(
    "--against",
    metavar="NAME",
    default="",
    help="Column that counts events of each observation, or marks them by 1 and 0.",
)
@confidence_option
@seed_option
@output_options("Draw the coefficients of variation, or the windows")
def variability(
    file: Path,
    asked: Asked,
    by: str | None,
    assume: Assumption,
    adjust: Adjustment,
    window: int | None,
    against: str,
    confidence: float | None,
    seed: int,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Measure how much a response varies at each design point, and whether a factor changes that.

    DATA is a .csv or .parquet table with one row for each observation, or a bundle. Coefficients of
    variation (standard deviation over mean) of the design points are compared between the levels of
    every factor by ranks. With --window and --against, coefficient of variation and
    skewness of consecutive observations are set against a count of events among them.

    \b
      datamill analyze variability table.csv --response seconds --factors machine,aslr
      datamill analyze variability calls.parquet --response cycles --window 500 --against binned
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    result = analysis.variability(
        file,
        assume=assume,
        adjust=adjust,
        window=window,
        against=against,
        confidence=confidence,
        seed=seed,
        by=by,
        **asked,
    )
    put_out(result, figure_file=figure_file, html_file=html_file, as_json=as_json)
