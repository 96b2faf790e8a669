"""`datamill report`: the report of a bundle, made anew."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from datamill.cli.reporting import report_bundle
from datamill.results.bundle import open_bundle


@click.command(short_help="Rebuild the report of a bundle.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def report(folder: Path) -> None:
    """Rebuild table and report of the bundle in DIR, finished or not, and print the answer."""
    bundle = open_bundle(folder)
    report_bundle(bundle, bundle.read_records(), Console(highlight=False))
