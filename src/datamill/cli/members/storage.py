"""`datamill storage`: what takes room on the coordinator."""

from __future__ import annotations

import click

from datamill.cli.console import print_clean
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.json_answer import spell_answer
from datamill.experiment.messages.numbers import format_count
from datamill.experiment.messages.phrases import count_nouns
from datamill.experiment.quantities import format_size
from datamill.protocol.api.members.administration import Room


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@coordinator_options
def storage(as_json: bool, url: str | None, key: str | None) -> None:
    """Show what takes room on the coordinator, by kind of file: administrators only."""
    with connect(url, key) as coordinator:
        found = coordinator.get("/storage", Room)
    told = f"{format_size(found.free_bytes)} of {format_size(found.disk_bytes)} are free on its disk"
    if as_json:
        click.echo(spell_answer(f"{told}.", room=found))
        return
    print_clean(told)
    trials = f"{count_nouns(found.experiments, 'experiment')}, {count_nouns(found.trials, 'trial')}"
    print_clean(f"database: {found.database}, {format_size(found.database_bytes)}: {trials}")
    for kind in found.kinds:
        print_clean(f"{kind.kind} files: {format_count(kind.files)}, {format_size(kind.size_bytes)}")
    if found.removed:
        print_clean(f"kept no longer: {count_nouns(found.removed, 'file')}")
