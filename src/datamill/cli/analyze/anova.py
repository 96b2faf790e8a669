"""`datamill analyze anova`: linear model and analysis of variance."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.analysis.assumptions import check_assumptions
from datamill.analysis.linear_model import fit_linear_model
from datamill.analysis.question import Question
from datamill.cli.analyze.data import data_options, locate_errors, read_data
from datamill.report.anova_json import format_anova_json
from datamill.report.anova_text import format_anova


@click.command(short_help="Linear model and analysis of variance.")
@data_options
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, min_open=True, max_open=True),
    metavar="LEVEL",
    help="Level of the intervals [that of the bundle's experiment, else 0.95].",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True),
    metavar="ALPHA",
    help="Terms with a smaller p-value, not adjusted for their number, stand in the equation "
    "[that of the bundle's experiment, else 0.01].",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON with every digit.")
def anova(
    file: Path, question: Question, confidence: float | None, alpha: float | None, as_json: bool
) -> None:
    """Fit a factorial model to DATA and print its analysis of variance.

    DATA is a .csv or .parquet table with one row for each observation, one column for each factor
    and one for the response; or the folder of a bundle or its tidy table, whose invalid rows are
    left out and whose response and factors need not be named. Two levels count as -1 (low) and +1
    (high): `-` and `+`, numbers by size, other labels in reading order; a bundle's folder, unlike
    its table alone, gives them in the order of the design, which may turn signs around.

    \b
      datamill analyze anova table.csv --response seconds --factors compiler,flag
      datamill analyze anova my-bundle/ --response wall_time_s --json
    """  # noqa: D301 - click needs the backspace itself
    data = read_data(file, question)
    observations, asked = data.selected.observations, data.experiment
    with locate_errors(str(file)):
        model = fit_linear_model(
            observations.cells,
            order=max(term.order for term in data.selected.terms),
            confidence=confidence or (asked.confidence if asked else 0.95),
            alpha=alpha or (asked.alpha if asked else 0.01),
        )
    checks = check_assumptions(observations.cells, model)
    write = format_anova_json if as_json else format_anova
    click.echo(write(observations, model, checks))
