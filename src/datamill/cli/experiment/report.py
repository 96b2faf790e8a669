"""`datamill report`: the report of a bundle, made anew."""

from __future__ import annotations

import os
from pathlib import Path

import click

from datamill.cli.console import make_console
from datamill.cli.experiment.reporting import print_report
from datamill.report.figures.views import start_drawing


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--csv", "always_csv", is_flag=True, help="Write table.csv even when it is very large.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON, with every digit.")
def report(folder: Path, always_csv: bool, as_json: bool) -> None:
    """Rebuild table and report of the bundle in DIR, finished or not, and print the answer."""
    # Threads that share matrices as small as a design's take longer to meet than to multiply.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    start_drawing()
    # What takes a second to load comes after the process that draws was started, not before.
    from datamill.conduct.report_bundle import report_bundle
    from datamill.results.bundles.opening import open_bundle

    bundle = open_bundle(folder)
    reported = report_bundle(bundle, bundle.read_records(), always_csv=always_csv)
    if as_json:
        click.echo(reported.answered.json())
        return
    print_report(reported, make_console())
