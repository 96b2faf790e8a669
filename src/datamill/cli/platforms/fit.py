"""`datamill platforms fit`: whether an application can be predicted from a suite, and what carries it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from datamill.cli.platforms.fleet.fleet_inputs import fleet_or_files
from datamill.cli.platforms.platform_options import (
    application_options,
    limit_option,
    machine_options,
    method_options,
)
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files
from datamill.experiment.errors import InputError
from datamill.verbs.platforms.fit import fit_platforms
from datamill.verbs.platforms.platform_inputs import add_notes


@click.command(short_help="Can this application be predicted from this suite?")
@fleet_or_files
@application_options
@click.option(
    "--save",
    "save_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Keep the fingerprint, for `predict --fingerprint` and `rank --fingerprint`.",
)
@machine_options
@method_options
@limit_option
@output_options("Draw measured machines, each predicted from the others")
def fit(
    scores: Any,
    application: Any,
    told: tuple[str, ...],
    name: str,
    save_file: Path | None,
    machines: Path | None,
    response: str,
    confidence: float | None,
    limit: float | None,
    strategy: str,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Say whether an application can be predicted from SCORES, how well, and what carries the predictions.

    SCORES is as in `datamill platforms predict`.

    \b
      datamill platforms fit scores.csv --application times.csv
      datamill platforms fit scores.csv --application times.csv --save web.json
      datamill platforms fit --experiment 7
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    if save_file is not None and not save_file.parent.is_dir():
        raise InputError("there is no such folder", where=str(save_file.parent), remedy="Make it first.")
    result = fit_platforms(
        scores,
        application,
        machines=machines,
        strategy=strategy,
        confidence=confidence,
        limit=limit,
        name=name,
        response=response,
    )
    if save_file is not None:
        result.save(save_file)
    put_out(add_notes(result, told), figure_file=figure_file, html_file=html_file, as_json=as_json)
