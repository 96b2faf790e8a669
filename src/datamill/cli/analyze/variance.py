"""`datamill analyze variance`: variances of builds, executions and measurements."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from datamill.analysis.random_effects.variance import VarianceMethod
from datamill.cli.tables.data import by_option, confidence_option, parse_levels, seed_option, where_option
from datamill.cli.tables.nested_options import nested_options
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files
from datamill.cli.verbs import DataArgument
from datamill.verbs import variance as analysis
from datamill.verbs.inputs.nested_data import AskedNested


@click.command(short_help="Where uncertainty comes from: builds, executions or measurements.")
@click.argument("file", metavar="DATA", cls=DataArgument, type=click.Path(path_type=Path))
@nested_options
@where_option
@by_option
@click.option(
    "--method",
    type=click.Choice(get_args(VarianceMethod)),
    default="means",
    show_default=True,
    help="Mean squares of unweighted means, or restricted maximum likelihood; of unbalanced data both are "
    "shown.",
)
@confidence_option
@seed_option
@output_options("Draw execution means by build")
def variance(
    file: Path,
    asked: AskedNested,
    where: tuple[str, ...],
    by: str | None,
    method: VarianceMethod,
    confidence: float | None,
    seed: int,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Estimate how much builds, executions and measurements vary, and what makes the mean uncertain.

    DATA is a .csv or .parquet table with one row for each measurement, or a bundle. Columns version, build,
    execution, measurement, value (and unit, response, where there are several) say what a row is; a
    column that is missing is a level that is not repeated.

    \b
      datamill analyze variance table.csv
      datamill analyze variance table.csv --value seconds --version commit
      datamill analyze variance my-bundle --response wall_time_s --figure builds.png
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    result = analysis.variance(
        file,
        method=method,
        where=parse_levels("where", where),
        confidence=confidence,
        seed=seed,
        by=by,
        **asked,
    )
    put_out(result, figure_file=figure_file, html_file=html_file, as_json=as_json)
