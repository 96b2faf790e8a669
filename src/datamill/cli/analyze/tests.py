"""`datamill analyze tests`: groups compared; the caller states the assumption, the test follows."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from datamill.analysis.contrasts.multiplicity import Adjustment
from datamill.analysis.groups.group_comparison import Aspect, Assumption
from datamill.cli.tables.data import adjust_option, by_option, data_options, seed_option
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files
from datamill.verbs import tests as analysis
from datamill.verbs.analyses.analysis import Asked


@click.command(short_help="Compare groups; you state the assumption, the test follows.")
@data_options
@by_option
@click.option(
    "--factor",
    metavar="NAME",
    default="",
    help="Factor whose levels are the groups [the first of the factors]; groups are compared within each "
    "combination of the others.",
)
@click.option(
    "--assume",
    type=click.Choice(get_args(Assumption)),
    default="nothing",
    show_default=True,
    help="What you know of the distributions.",
)
@click.option(
    "--compare",
    type=click.Choice(get_args(Aspect)),
    default="location",
    show_default=True,
    help="Whether one group is larger, or spreads more.",
)
@adjust_option
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, min_open=True, max_open=True),
    metavar="LEVEL",
    help="Level of the intervals; 1 − LEVEL is alpha [that of the bundle's experiment, else 0.95].",
)
@seed_option
@output_options("Draw every pair's estimate with its interval")
def tests(
    file: Path,
    asked: Asked,
    by: str | None,
    factor: str,
    assume: Assumption,
    compare: Aspect,
    adjust: Adjustment,
    confidence: float | None,
    seed: int,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Compare the groups that the levels of a factor form, and say which is larger and how sure that is.

    DATA is a .csv or .parquet table with one row for each observation, or a bundle.

    \b
      assume                  two groups       several groups                  spread
      nothing                 Mann-Whitney     Kruskal-Wallis, Mann-Whitney    Brown-Forsythe
      exchangeable            permutation      permutation of means            -
      normal                  Welch            Welch, Games-Howell             variance ratio F
      normal-equal-variances  Student          one-way F, Tukey-Kramer         -

    Measurements of one trial are averaged, never counted as replicates.

    \b
      datamill analyze tests table.csv --response seconds --factors compiler
      datamill analyze tests table.csv --response seconds --factors compiler,machine --assume normal
      datamill analyze tests my-bundle/ --compare spread --figure spread.svg
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    result = analysis.tests(
        file,
        factor=factor,
        assume=assume,
        compare=compare,
        adjust=adjust,
        confidence=confidence,
        seed=seed,
        by=by,
        **asked,
    )
    put_out(result, figure_file=figure_file, html_file=html_file, as_json=as_json)
