"""`datamill analyze summary`: five-number summaries, and distributions as figures."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from datamill.cli.tables.data import by_option, confidence_option, data_options
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files
from datamill.report.figures.figure import Figure
from datamill.verbs import summary as analysis
from datamill.verbs.analyses.analysis import Asked
from datamill.verbs.analyses.by_level import ByLevel
from datamill.verbs.summary import Kind


@click.command(short_help="Five-number summaries, box plots, distributions.")
@data_options
@by_option
@confidence_option
@click.option(
    "--kind",
    type=click.Choice(get_args(Kind)),
    default="box",
    show_default=True,
    help="Box plots, empirical distribution functions, or histograms.",
)
@click.option("--log", is_flag=True, help="Logarithmic axis in the figure.")
@output_options("Draw the distributions")
def summary(
    file: Path,
    asked: Asked,
    by: str | None,
    confidence: float | None,
    kind: Kind,
    log: bool,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Summarise the distribution of a response: of all observations, or by the levels of factors.

    DATA is a .csv or .parquet table with one row for each observation, or a bundle. Prints minimum,
    quartiles, maximum, mean with its interval, standard deviation and coefficient of variation.

    \b
      datamill analyze summary table.csv --response seconds
      datamill analyze summary calls.parquet --response cycles --factors sched,load --figure box.svg --log
      datamill analyze summary my-bundle/ --figure ecdf.html --kind ecdf
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    result = analysis.summary(file, confidence=confidence, by=by, **asked)

    def draw() -> Figure:
        if isinstance(result, ByLevel):
            return result.draw(lambda item: item.figure(kind, log=log))
        return result.figure(kind, log=log)

    put_out(result, figure_file=figure_file, html_file=html_file, as_json=as_json, draw=draw)
