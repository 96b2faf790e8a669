"""`datamill export`: a bundle or table for another tool or a paper."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import click
import polars as pl

from datamill.cli.exchange.export_crate import AskedCrate, crate_options, export_crate
from datamill.cli.verbs import DataArgument
from datamill.experiment.errors import InputError
from datamill.report.tables.markup import format_latex, format_markdown
from datamill.report.tables.table import Table
from datamill.results.bundles.replaced_file import replace_file
from datamill.results.exporting.benchfmt import format_benchfmt, list_level_columns
from datamill.results.exporting.types import refuse_unspoken_types
from datamill.results.tables.csv_files.formula_cells import mark_cells
from datamill.verbs.exchange.exported_table import (
    choose_responses,
    read_exported_table,
    tabulate_points_of_responses,
)

_MARKUP: dict[str, Callable[[Table], str]] = {"latex": format_latex, "markdown": format_markdown}


@click.command(short_help="Write a bundle or table for another tool or a paper.")
@click.argument("data", metavar="DATA", cls=DataArgument, type=click.Path(path_type=Path))
@click.option(
    "--to",
    "form",
    type=click.Choice(["csv", "parquet", "benchfmt", "latex", "markdown", "rocrate"]),
    help="The format.",
)
@click.option("--rocrate", "as_crate", is_flag=True, help="The same as --to rocrate.")
@crate_options
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Where to write it [standard output]."
)
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@click.option("--response", "responses", metavar="NAME", multiple=True, help="Only this response [all].")
@click.option(
    "--quantiles",
    metavar="Q,…",
    default="",
    help="latex and markdown: also these quantiles with their intervals, such as 0.5,0.9, or ranges "
    "FROM:TO:STEP.",
)
@click.option(
    "--median", is_flag=True, help="latex and markdown: also the median; the same as --quantiles 0.5."
)
@click.option("--rows", is_flag=True, help="latex and markdown: the rows as they are, instead of means.")
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, min_open=True, max_open=True),
    metavar="LEVEL",
    default=0.95,
    show_default=True,
    help="Level of the intervals.",
)
def export(
    data: Path,
    form: str | None,
    as_crate: bool,
    asked: AskedCrate,
    out: Path | None,
    force: bool,
    responses: tuple[str, ...],
    quantiles: str,
    median: bool,
    rows: bool,
    confidence: float,
) -> None:
    """Write DATA, the folder of a bundle or a .csv or .parquet table, in another format.

    csv and parquet hold every row and digit. benchfmt is what go test -bench prints and benchstat
    compares: the valid observations of a tidy table, a PASS after each trial. latex (with the
    package booktabs) and markdown hold, for each response of a tidy table, the mean at each design
    point with its interval and n, and with --median or --quantiles these as well; of any other table
    the rows, rounded to 4 figures. rocrate is a research object, a zip file with the bundle and what others
    need to cite it and to run it again, as datamill reproduce --run does; run and import take it as well.

    \b
      datamill export my-bundle --to benchfmt --out new.txt
      datamill export table.csv --to latex --response wall_time_s --quantiles 0.5,0.9
      datamill export my-bundle --rocrate --author "Family, Given" --out my-bundle.zip
    """  # noqa: D301 - click needs the backspace itself
    if as_crate and form not in (None, "rocrate"):
        raise InputError(f"--rocrate and --to {form} ask for two formats", remedy="Leave one of them out.")
    form = "rocrate" if as_crate else form
    if form is None:
        raise click.MissingParameter(param_hint="--to", param_type="option")
    if form == "rocrate":
        export_crate(data, out, asked, force=force)
        return
    wanted = [*([0.5] if median else []), *_read_quantiles(quantiles)]
    if wanted and (form not in _MARKUP or rows):
        raise InputError(
            f"{'--median' if median else '--quantiles'} is for tables of design points",
            where="--rows" if rows else f"--to {form}",
            remedy="Leave it out, or write --to latex or --to markdown without --rows.",
        )
    table = read_exported_table(data)
    source, tidy = table.source, table.is_tidy
    if wanted and not tidy:
        raise InputError(
            "medians and quantiles by design point need a tidy table: columns trial_id, response, value and "
            "valid",
            where=source,
            remedy="Export a bundle's folder; of this table, datamill analyze quantiles shows quantiles.",
        )
    if responses:
        table = choose_responses(table, responses)
    exported = table.rows
    notes: tuple[str, ...] = ()
    if form != "parquet":
        refuse_unspoken_types(exported, source=source)
    if form == "csv":
        content = mark_cells(exported).write_csv().encode()
    elif form == "parquet":
        content = _encode_parquet(exported, out)
    elif form == "benchfmt":
        if not tidy:
            raise InputError(
                "this is not a tidy table: no columns trial_id, response, value and valid",
                where=source,
                remedy="Export the table of a bundle, or one that datamill import made.",
            )
        written = format_benchfmt(exported, list_level_columns(exported), source=source)
        content, notes = written.text.encode(), written.notes
    else:
        from datamill.report.tables.point_table import show_rows

        as_rows = rows or not tidy
        tables = [show_rows(exported)] if as_rows else tabulate_points_of_responses(table, confidence, wanted)
        content = "\n".join(_MARKUP[form](item) for item in tables).encode()
    _deliver(content, out, force, data)
    for note in notes:
        click.echo(f"Note: {note}.", err=True)


def _read_quantiles(text: str) -> Sequence[float]:
    if not text:
        return ()
    # Imported late: statistics take half a second to load, which rows do not need.
    from datamill.cli.analyze.quantiles import parse_quantiles

    return parse_quantiles(text)


def _encode_parquet(table: pl.DataFrame, out: Path | None) -> bytes:
    if out is None:
        raise InputError("Parquet is not text", remedy="Name a file with --out.")
    buffer = BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def _deliver(content: bytes, out: Path | None, force: bool, data: Path) -> None:
    if out is None or out == Path("-"):
        sys.stdout.buffer.write(content)
        return
    if not out.parent.is_dir():
        raise InputError("there is no such folder", where=str(out.parent), remedy="Make it first.")
    if out.is_dir():
        raise InputError("this is a folder", where=str(out), remedy="Name a file in it.")
    if out.exists() and out.resolve() == data.resolve():
        raise InputError("this file is itself to be exported", where=str(out), remedy="Choose another.")
    if out.exists() and not force:
        raise InputError(
            "the file exists already",
            where=str(out),
            remedy="Choose another with --out, or overwrite it with --force.",
        )
    replace_file(out, [content])
    click.echo(f"Written: {out}", err=True)
