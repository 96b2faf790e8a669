"""`datamill release`: the design of an experiment may run that waits for a person."""

from __future__ import annotations

import click

from datamill.cli.console import print_clean
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.protocol.api.experiments import ExperimentLine


@click.command()
@click.argument("number", metavar="ID", type=click.IntRange(min=1))
@coordinator_options
def release(number: int, url: str | None, key: str | None) -> None:
    """Run the design of experiment ID, which waits for someone to look at its debug trials."""
    with connect(url, key) as coordinator:
        experiment = coordinator.post(f"/experiments/{number}/release", ExperimentLine)
    print_clean(f"experiment {number} ({experiment.name}): {experiment.state}")
