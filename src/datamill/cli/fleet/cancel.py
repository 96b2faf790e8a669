"""`datamill cancel`: no more trials of an experiment."""

from __future__ import annotations

import click

from datamill.cli.console import print_clean
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.protocol.api.experiments import ExperimentLine


@click.command()
@click.argument("number", metavar="ID", type=click.IntRange(min=1))
@coordinator_options
def cancel(number: int, url: str | None, key: str | None) -> None:
    """End experiment ID on the fleet; what was measured stays, for datamill fetch."""
    with connect(url, key) as coordinator:
        experiment = coordinator.post(f"/experiments/{number}/cancel", ExperimentLine)
    print_clean(f"experiment {number} ({experiment.name}): {experiment.state}")
