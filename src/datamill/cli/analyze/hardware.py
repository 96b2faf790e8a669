"""`datamill analyze hardware`: dimensions of hardware, machines being what was sampled."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from datamill.analysis.hardware.dimension import Scale
from datamill.cli.tables.data import by_option, confidence_option, data_options
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files
from datamill.verbs.analyses.analysis import Asked
from datamill.verbs.hardware import hardware as analysis


@click.command(short_help="What a dimension of hardware does; machines are what was sampled.")
@data_options
@by_option
@click.option(
    "--dimension",
    required=True,
    metavar="NAME",
    help="Dimension that machines are nested in: arch, cpu_model, clock, cores, cache, memory, kernel, "
    "distribution, compiler, or a column.",
)
@click.option(
    "--machine", default="", metavar="NAME", help="Column that tells machines apart [machine, else worker]."
)
@click.option(
    "--scale",
    type=click.Choice(get_args(Scale)),
    help="Compare ratios, or differences [ratios where all values are above zero].",
)
@confidence_option
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True),
    metavar="ALPHA",
    help="Level of p-values [that of the bundle's experiment, else 0.01].",
)
@output_options("Draw the machines by level")
def hardware(
    file: Path,
    asked: Asked,
    by: str | None,
    dimension: str,
    machine: str,
    scale: Scale | None,
    confidence: float | None,
    alpha: float | None,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Say what a dimension of hardware does to a response, and to other factors' effects on it.

    DATA is a bundle of a fleet, or a .csv or .parquet table. Machines are nested in the dimension, and they
    are what was sampled: each counts as one value, however many trials it made. Where each level has one
    machine, the two cannot be told apart, and there is no interval.

    \b
      datamill analyze hardware my-bundle/ --dimension arch
      datamill analyze hardware table.csv --response seconds --factors flag --dimension arch --machine host
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    result = analysis.hardware(
        file,
        dimension=dimension,
        machine=machine,
        scale=scale,
        confidence=confidence,
        alpha=alpha,
        by=by,
        **asked,
    )
    put_out(result, figure_file=figure_file, html_file=html_file, as_json=as_json)
