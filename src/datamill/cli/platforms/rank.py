"""`datamill platforms rank`: candidate machines in the order of their speed for an application."""

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
from datamill.verbs.platforms.rank import rank_machines


@click.command(short_help="Which machine is best for it, and how sure is that?")
@fleet_or_files
@application_options
@fingerprint_option
@click.option(
    "--candidates",
    multiple=True,
    metavar="NAME",
    help="Machines to order, separated by commas; may be given several times [every machine].",
)
@click.option(
    "--prices",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Prices, with columns machine and price: adds speed per price.",
)
@machine_options
@method_options
@limit_option
@output_options("Draw the application over the suite's mean")
def rank(
    scores: Any,
    application: Any,
    told: tuple[str, ...],
    fingerprint: Path | None,
    name: str,
    candidates: tuple[str, ...],
    prices: Path | None,
    machines: Path | None,
    response: str,
    confidence: float | None,
    limit: float | None,
    strategy: str,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Order machines of SCORES for an application, with the probability that the order is right.

    SCORES is as in `datamill platforms predict`. Pairs that the suite's mean would order the other way round
    are named.

    \b
      datamill platforms rank scores.csv --application times.csv
      datamill platforms rank scores.csv --application times.csv --candidates a,b,c --prices prices.csv
      datamill platforms rank --experiment 7
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    result = rank_machines(
        scores,
        application,
        fingerprint=fingerprint,
        candidates=candidates,
        prices=prices,
        machines=machines,
        strategy=strategy,
        confidence=confidence,
        limit=limit,
        name=name,
        response=response,
    )
    put_out(add_notes(result, told), figure_file=figure_file, html_file=html_file, as_json=as_json)
