"""`datamill report`: the report of a bundle, made anew."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.console import make_console
from datamill.cli.reporting import report_bundle
from datamill.results.bundle import open_bundle


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--csv", "always_csv", is_flag=True, help="Write table.csv even when it is very large.")
def report(folder: Path, always_csv: bool) -> None:
    """Rebuild table and report of the bundle in DIR, finished or not, and print the answer."""
    bundle = open_bundle(folder)
    report_bundle(bundle, bundle.read_records(), make_console(), always_csv=always_csv)
