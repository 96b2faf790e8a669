"""`datamill predict`: a response at levels between those that were measured."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.tables.data import confidence_option, data_options, parse_levels
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.verbs.analyses.analysis import Asked
from datamill.verbs.prediction import predict as analysis


@click.command(short_help="What a response would be at levels that were not measured.")
@data_options
@click.option(
    "--at",
    "points",
    multiple=True,
    metavar="NAME=LEVEL,…",
    help="Levels to predict at, such as size=125MB,package=xz; factors that are not named are taken at each "
    "of their levels. Repeatable.",
)
@click.option(
    "--scale",
    "scales",
    multiple=True,
    metavar="NAME=linear|log",
    help="Follow a numeric factor in a straight line, or in its logarithm [chosen by the data]; of the "
    "response log: model its logarithm.",
)
@click.option("--extrapolate", is_flag=True, help="Also predict beyond the levels that were measured.")
@confidence_option
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True),
    metavar="ALPHA",
    help="Warn of lack of fit at a smaller p-value [that of the bundle's experiment, else 0.01].",
)
@output_options("Draw the model with its intervals")
def predict(
    file: Path,
    asked: Asked,
    points: tuple[str, ...],
    scales: tuple[str, ...],
    extrapolate: bool,
    confidence: float | None,
    alpha: float | None,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Predict a response at levels of factors, also between those that were measured.

    DATA is a bundle, or a .csv or .parquet table. A numeric factor of which a level is asked for that was not
    measured is followed in a straight line between its levels, with every interaction; all other factors
    keep the levels asked for. Prints the mean with its confidence interval, and the interval in which a
    single further trial is expected; says in what the line is straight and why, and whether the measured
    means depart from it.

    \b
      datamill predict my-bundle/ --at size=125MB,package=xz
      datamill predict table.csv --response seconds --factors package,size --at size=125MB --scale size=log
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    if not points:
        raise InputError(
            "no level is asked for", remedy=f"Name at least one, such as {argument('at', 'size=125MB')}."
        )
    result = analysis.predict(
        file,
        at=[parse_levels("at", [point]) for point in points],
        scale={name: levels[-1] for name, levels in parse_levels("scale", scales).items()},
        extrapolate=extrapolate,
        confidence=confidence,
        alpha=alpha,
        **asked,
    )
    put_out(result, figure_file=figure_file, html_file=html_file, as_json=as_json)
