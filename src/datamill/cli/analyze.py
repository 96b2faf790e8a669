"""`datamill analyze`: inference on tables, without an experiment."""

from __future__ import annotations

import csv
from pathlib import Path

import click
import polars as pl

from datamill.analysis.assumptions import check_assumptions
from datamill.analysis.linear_model import fit_linear_model
from datamill.analysis.observations import (
    Observations,
    is_tidy,
    list_tidy_factors,
    read_columns,
    select_response,
)
from datamill.experiment.errors import InputError
from datamill.report.anova_json import format_anova_json
from datamill.report.anova_text import format_anova
from datamill.results.bundle import open_bundle


@click.group(
    short_help="Analyse a table of measurements.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def analyze() -> None:
    """Analyse a table of measurements, whoever made it."""


@analyze.command(short_help="Linear model and analysis of variance.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--response", metavar="NAME", default="", help="Column (of a bundle: response) to explain.")
@click.option("--factors", metavar="A,B,…", default="", help="Columns that explain it, separated by commas.")
@click.option(
    "--order",
    type=click.IntRange(min=1),
    metavar="N",
    help="Interactions of up to N factors [that of the bundle's experiment, else all of them for 3 factors "
    "or fewer, else 2].",
)
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
    file: Path,
    response: str,
    factors: str,
    order: int | None,
    confidence: float | None,
    alpha: float | None,
    as_json: bool,
) -> None:
    """Fit a factorial model to FILE and print its analysis of variance.

    FILE is a .csv or .parquet table with one row for each observation, one column for each factor
    and one for the response; or the folder of a bundle or its tidy table, whose invalid rows are
    left out and whose response and factors need not be named. Two levels count as -1 (low) and +1
    (high): `-` and `+`, numbers by size, other labels in reading order; a bundle's folder, unlike
    its table alone, gives them in the order of the design, which may turn signs around.

    \b
      datamill analyze anova table.csv --response seconds --factors compiler,flag
      datamill analyze anova my-bundle/ --response wall_time_s --json
    """  # noqa: D301 - click needs the backspace itself
    names = [name.strip() for name in factors.split(",") if name.strip()]
    observations = _read_observations(file, response, names)
    count = len(observations.cells.factors)
    asked = open_bundle(file).experiment if file.is_dir() else None
    usual_order = asked.interaction_order if asked else (count if count <= 3 else 2)
    try:
        model = fit_linear_model(
            observations.cells,
            order=order or min(usual_order, count),
            confidence=confidence or (asked.confidence if asked else 0.95),
            alpha=alpha or (asked.alpha if asked else 0.01),
        )
    except InputError as error:
        raise InputError(error.message, where=error.where or str(file), remedy=error.remedy) from None
    checks = check_assumptions(observations.cells, model)
    write = format_anova_json if as_json else format_anova
    click.echo(write(observations, model, checks))


def _read_observations(file: Path, response: str, factors: list[str]) -> Observations:
    if file.is_dir():
        return _read_bundle(file, response, factors)
    table = _read_table(file)
    source = str(file)
    if is_tidy(table):
        table = table.with_columns(pl.col("valid").cast(pl.String).str.to_lowercase() == "true")
        known = table["response"].drop_nulls()
        if known.len() == 0:
            raise InputError("the table has no rows", where=source, remedy="Give a table with observations.")
        response = response or str(known[0])
        return select_response(
            table, response, factors or _list_varied_factors(table, response, source), source=source
        )
    _refuse_other_separator(table, source)
    for given, option in ((response, "--response y"), (factors, "--factors x1,x2")):
        if not given:
            raise InputError(
                f"{option.split()[0]} is missing",
                where=source,
                remedy=f"Name one with {option}; the columns are: {', '.join(table.columns)}.",
            )
    return read_columns(table, response, factors, source=source, first_line=2 if _is_text(file) else 1)


def _read_bundle(folder: Path, response: str, factors: list[str]) -> Observations:
    bundle = open_bundle(folder)
    file = folder / "table.parquet"
    table = _read_table(file)
    levels = {factor.name: factor.levels for factor in bundle.design.factors}
    response = response or bundle.experiment.responses[0].name
    return select_response(
        table,
        response,
        factors or _list_varied_factors(table, response, str(file)),
        levels=levels,
        source=str(file),
    )


def _list_varied_factors(table: pl.DataFrame, response: str, source: str) -> tuple[str, ...]:
    """Return the factors with valid data of a response at several levels."""
    rows = table.filter((pl.col("response") == response) & pl.col("valid"))
    names = list_tidy_factors(rows)
    if rows.height and not names:
        raise InputError(
            f"no factor has valid data of {response} at two levels",
            where=source,
            remedy="There is nothing to explain; datamill report gives the mean with its interval.",
        )
    return names


def _is_text(file: Path) -> bool:
    return file.suffix.lower() == ".csv"


def _read_table(file: Path) -> pl.DataFrame:
    if not file.is_file():
        raise InputError("there is no such file", where=str(file), remedy="Check the path.")
    try:
        if not _is_text(file):
            return pl.read_parquet(file)
        _refuse_repeated_columns(file)
        # Everything as text: what is not a number is then known by its line.
        table = pl.read_csv(file, infer_schema=False)
        filled = table.select(~pl.all_horizontal(pl.all().is_null())).to_series()
        return table.head(table.height - (filled.reverse().arg_max() or 0) if filled.any() else 0)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0].rstrip(".:")
        raise InputError(
            f"the table cannot be read: {reason}",
            where=str(file),
            remedy="Give a comma-separated .csv file in UTF-8 with a header line, or a .parquet file.",
        ) from None


def _refuse_other_separator(table: pl.DataFrame, source: str) -> None:
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if table.width == 1 and mark in table.columns[0]:
            raise InputError(
                f"the columns seem to be separated by {name}",
                where=source,
                remedy="Separate them by commas.",
            )


def _refuse_repeated_columns(file: Path) -> None:
    with file.open(encoding="utf-8-sig", newline="") as handle:
        header = next(csv.reader(handle), [])
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise InputError(
            f'the column "{repeated[0]}" stands there twice', where=f"{file}:1", remedy="Rename one of them."
        )
