"""`datamill platforms predict`: an application's time on machines where it was not measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from datamill.cli.platforms.fleet.fleet_inputs import fleet_or_files
from datamill.cli.platforms.platform_options import (
    application_options,
    fingerprint_option,
    limit_option,
    machine_options,
    method_options,
)
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files
from datamill.verbs.platforms.platform_inputs import add_notes
from datamill.verbs.platforms.predict import predict_platforms


@click.command(short_help="Its time on every machine where it was not measured.")
@fleet_or_files
@application_options
@fingerprint_option
@click.option(
    "--target",
    "--targets",
    "targets",
    multiple=True,
    metavar="NAME",
    help="Predict this machine only; may be given several times [every machine that TIMES lacks].",
)
@machine_options
@method_options
@limit_option
@output_options("Draw the value on each machine with its interval")
def predict(
    scores: Any,
    application: Any,
    told: tuple[str, ...],
    fingerprint: Path | None,
    name: str,
    targets: tuple[str, ...],
    machines: Path | None,
    response: str,
    confidence: float | None,
    limit: float | None,
    strategy: str,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Predict an application's time on every machine of SCORES that did not measure it, with intervals.

    SCORES is a .csv or .parquet table with columns machine, benchmark, seconds (or score, of which more is
    better) and maybe replicate; a bundle; SPEC's result .csv files or the Phoronix Test Suite's .xml files,
    or a folder of them. A machine that cannot be predicted is refused, with the reason.

    With --experiment the application is a package of an experiment of the fleet, and SCORES may be left out:
    then they are those of the fleet's machines (`datamill platforms scores`).

    \b
      datamill platforms predict scores.csv --application times.csv
      datamill platforms predict scores.csv --application times.csv --target new-server --json
      datamill platforms predict spec-results/ --application times.csv --figure predicted.svg
      datamill platforms predict scores.csv --fingerprint web.json
      datamill platforms predict --experiment 7 --package web
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    result = predict_platforms(
        scores,
        application,
        fingerprint=fingerprint,
        targets=targets,
        machines=machines,
        strategy=strategy,
        confidence=confidence,
        limit=limit,
        name=name,
        response=response,
    )
    put_out(add_notes(result, told), figure_file=figure_file, html_file=html_file, as_json=as_json)
