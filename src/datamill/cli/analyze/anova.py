"""`datamill analyze anova`: linear model and analysis of variance."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.analysis.linear.linear_model import SquaresType
from datamill.cli.tables.data import by_option, confidence_option, data_options
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files, write_titled
from datamill.verbs import anova as analysis
from datamill.verbs.analyses.analysis import Asked
from datamill.verbs.analyses.by_level import ByLevel


@click.command(short_help="Linear model and analysis of variance.")
@data_options
@by_option
@click.option(
    "--type",
    "squares",
    type=click.Choice(["I", "II", "III"], case_sensitive=False),
    default="III",
    metavar="I|II|III",
    show_default=True,
    help="Sums of squares where terms overlap. III: each term after all others, as the estimates are; "
    "II: after those that do not contain it; I: in the order written. In balanced designs all agree.",
)
@click.option(
    "--reduce", "reduced", is_flag=True, help="Print the reduced table: mean squares and p-values alone."
)
@confidence_option
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True),
    metavar="ALPHA",
    help="Terms with a smaller p-value, not adjusted for their number, stand in the equation "
    "[that of the bundle's experiment, else 0.01].",
)
@click.option(
    "--diagnostics",
    "diagnostics_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw residuals, probability plot, histogram and Cook's distances: as for --figure.",
)
@click.option(
    "--no-quantiles",
    is_flag=True,
    help="Do not fit the median and the 0.9 quantile as well where the linear model's assumptions fail.",
)
@output_options("Draw the effects as shares of the mean")
def anova(
    file: Path,
    asked: Asked,
    by: str | None,
    squares: SquaresType,
    reduced: bool,
    confidence: float | None,
    alpha: float | None,
    diagnostics_file: Path | None,
    no_quantiles: bool,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Fit a linear model to DATA, print its analysis of variance, and check its assumptions.

    DATA is a .csv or .parquet table with one row for each observation, one column for each factor
    and one for the response; or the folder of a bundle or its tidy table, whose invalid rows are
    left out and whose response and factors need not be named. Two levels count as -1 (low) and +1
    (high): `-` and `+`, numbers by size, other labels in reading order; a bundle's folder, unlike
    its table alone, gives them in the order of the design, which may turn signs around. Covariates
    count from their means.

    Observations of one trial (--trial, and always in a bundle) are averaged first: they are not
    replicates. Where assumptions fail, the median and the 0.9 quantile are fitted as well.

    \b
      datamill analyze anova table.csv --response seconds --factors compiler,flag
      datamill analyze anova table.csv --formula "seconds ~ compiler * log(size)" --blocks day
      datamill analyze anova my-bundle/ --response wall_time_s --json
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    refuse_bad_files(diagnostics_file, None)
    result = analysis.anova(
        file,
        squares=squares,
        reduced=reduced,
        confidence=confidence,
        alpha=alpha,
        quantiles=not no_quantiles,
        by=by,
        **asked,
    )
    if diagnostics_file is not None:
        shown = (
            result.draw(lambda item: item.diagnostics_figure())
            if isinstance(result, ByLevel)
            else result.diagnostics_figure()
        )
        write_titled(shown, diagnostics_file)
    put_out(result, figure_file=figure_file, html_file=html_file, as_json=as_json)
