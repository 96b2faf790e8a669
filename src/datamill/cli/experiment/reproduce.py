"""`datamill reproduce`: does an experiment that was run again have the same result?"""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.tables.output import output_options, put_out, refuse_bad_files
from datamill.cli.verbs import DataArgument
from datamill.experiment.quantities import parse_share
from datamill.verbs.reproduction import reproduce as analysis

_EXIT_NOT_REPRODUCED = 1


@click.command(short_help="Does an experiment that was run again have the same result?")
@click.argument("original", metavar="ORIGINAL", cls=DataArgument, type=click.Path(path_type=Path))
@click.argument("rerun", metavar="RERUN", cls=DataArgument, type=click.Path(path_type=Path))
@click.option(
    "--margin",
    metavar="SHARE",
    default="5%",
    show_default=True,
    help="By how much a ratio may differ and still be the same result; choose it before the re-run.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True),
    metavar="ALPHA",
    default=0.05,
    show_default=True,
    help="Rate of either mistake.",
)
@click.option("--check", is_flag=True, help="Exit with status 1 unless the result was reproduced.")
@output_options("Draw both effects, and the change against the margin")
def reproduce(
    original: Path,
    rerun: Path,
    margin: str,
    alpha: float,
    check: bool,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Say whether the bundle RERUN has the result of the bundle ORIGINAL, or that the data cannot tell yet.

    The result is what the experiment is about, its effects as ratios: of each package to the baseline, or
    with one package of each factor's levels to the first. Times may be others, as on other machines. An
    effect is reproduced where the interval of the ratio of both lies within ±SHARE, which is more than that
    two intervals overlap; it is not where the interval lies wholly outside. Otherwise the output says how
    many trials would tell. Either may be an RO-Crate as well.

    \b
      datamill run published.zip --out again
      datamill reproduce published.zip again --margin 5%
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    result = analysis.reproduce(original, rerun, margin=parse_share(margin, where="--margin"), alpha=alpha)
    put_out(result, figure_file=figure_file, html_file=html_file, as_json=as_json)
    if check and result.found.verdict != "reproduced":
        click.get_current_context().exit(_EXIT_NOT_REPRODUCED)
