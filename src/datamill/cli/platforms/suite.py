"""`datamill platforms suite`: the fingerprint suite as an experiment that runs as it is."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.console import name_command
from datamill.packing.fingerprint_suite import place_fingerprint_suite


@click.command(short_help="Make an experiment of the fingerprint suite, for machines without scores.")
@click.argument("folder", type=click.Path(path_type=Path))
def suite(folder: Path) -> None:
    """Make FOLDER with the fingerprint suite: small programs whose times are scores of a machine.

    Its bundle stands wherever SCORES are asked for: a machine of a fleet is a machine of the scores, and a
    factor with several levels makes one machine of each combination.

    \b
      datamill platforms suite fingerprint
      datamill run fingerprint
      datamill submit fingerprint/experiment.toml
      datamill platforms predict fingerprint-bundle --application times.csv
    """  # noqa: D301 - click needs the backspace itself
    members = place_fingerprint_suite(folder)
    click.echo(f"{folder} has the fingerprint suite: {', '.join(members)}.")
    click.echo(f"  {name_command()} check {folder}    see what would run")
    click.echo(f"  {name_command()} run {folder}      run it")
