"""What all verbs of `analyze` put out: text or JSON, a figure, a page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import click

from datamill.cli.console import clean_for_terminal
from datamill.cli.tables.working import KEY
from datamill.experiment.errors import InputError
from datamill.report.figures.figure import (
    FIGURE_SUFFIXES,
    Figure,
    refuse_suffix,
    shorten_figure,
    title_chart,
    write_figure,
)
from datamill.report.tables.markup import RENDERERS, TableForm
from datamill.report.words.short_names import use_short_names
from datamill.verbs.analyses.analysis import Analysis

#: Where a call keeps whether everything is to be printed.
_VERBOSE = "datamill.verbose"
#: Where a call keeps the form that its tables are to have.
_FORM = "datamill.form"


def _keep_verbose(context: click.Context, _option: click.Parameter, given: bool) -> None:
    context.meta[_VERBOSE] = given


def _keep_form(context: click.Context, _option: click.Parameter, given: TableForm | None) -> None:
    context.meta[_FORM] = given


def output_options(figure_help: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of outputs; the verb gets `figure_file`, `html_file` and `as_json`."""
    options = [
        click.option(
            "--figure",
            "figure_file",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help=f"{figure_help}: .svg, .png, .pdf, .html or .json.",
        ),
        click.option(
            "--html",
            "html_file",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Also write a page with the answer, the numbers and interactive figures; it needs nothing "
            "but itself.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print JSON with every digit."),
        click.option(
            "--to",
            type=click.Choice(list(RENDERERS)),
            expose_value=False,
            callback=_keep_form,
            help="Print the tables alone, for a paper or another program.",
        ),
        click.option(
            "--verbose",
            is_flag=True,
            expose_value=False,
            callback=_keep_verbose,
            help="Also print what specialists look for, such as other authors' rules, and every warning.",
        ),
    ]

    def add_options(verb: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            verb = option(verb)
        return verb

    return add_options


def refuse_bad_files(figure_file: Path | None, html_file: Path | None) -> None:
    """Refuse names of files that cannot be written, before anything is computed.

    Raises:
        InputError: a name has an ending that is not understood, or its folder does not exist.
    """
    if figure_file is not None:
        refuse_suffix(figure_file, FIGURE_SUFFIXES, "a figure")
    if html_file is not None:
        refuse_suffix(html_file, (".html", ".htm"), "a page")
    for file in (figure_file, html_file):
        if file is not None and not file.parent.is_dir():
            raise InputError("there is no such folder", where=str(file.parent), remedy="Make it first.")


def refuse_two_forms(*, as_json: bool) -> None:
    """Refuse JSON and tables at once: both go to standard output.

    Raises:
        InputError: both are asked for.
    """
    if as_json and click.get_current_context().meta.get(_FORM) is not None:
        raise InputError("--json and --to ask for two outputs", remedy="Leave one of them out.")


def put_out(
    analysis: Analysis,
    *,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
    draw: Callable[[], Figure] | None = None,
) -> None:
    """Write the figure (the first of the analysis, unless `draw` makes another) and the page, and print.

    Raises:
        InputError: JSON and tables are asked for at once, or as `Analysis.tables`.
    """
    refuse_two_forms(as_json=as_json)
    if figure_file is not None:
        with use_short_names(analysis.label_groups()):
            figure = shorten_figure(draw() if draw is not None else _choose_figure(analysis))
            write_titled(figure, figure_file)
    if html_file is not None:
        html_file.write_text(analysis.page(), encoding="utf-8")
    stop_working()
    meta = click.get_current_context().meta
    form: TableForm | None = meta.get(_FORM)
    if form is not None:
        click.echo(analysis.tables(form), nl=False)
    else:
        shown = analysis.json() if as_json else analysis.show(verbose=bool(meta.get(_VERBOSE)))
        # Names and levels are those of a table that others may have made.
        click.echo(shown if as_json else clean_for_terminal(shown))


def choose_form() -> TableForm | Literal["text", "verbose"]:
    """Return how this call's result is printed, unless as JSON."""
    meta = click.get_current_context().meta
    form: TableForm | None = meta.get(_FORM)
    return form or ("verbose" if meta.get(_VERBOSE) else "text")


def stop_working() -> None:
    """End the sign of life of this call, before its result is printed."""
    working = click.get_current_context().meta.get(KEY)
    if working is not None:
        working.stop()


def _choose_figure(analysis: Analysis) -> Figure:
    drawings = analysis.drawings()
    if not drawings:
        raise InputError("there is nothing to draw", remedy="The text says why; leave out --figure.")
    return drawings[0]()


def write_titled(figure: Figure, file: Path) -> None:
    """Write a figure with title and caption: on a page these stand beside it, a file has to say them itself.

    Raises:
        InputError: as `write_figure`.
    """
    write_figure(title_chart(figure), file)
