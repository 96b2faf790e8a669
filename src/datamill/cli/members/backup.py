"""`datamill backup`: a copy of the coordinator's database, made while all goes on."""

from __future__ import annotations

import click

from datamill.cli.console import print_clean
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.json_answer import spell_answer
from datamill.cli.members.moments import format_moment
from datamill.experiment.messages.phrases import count_nouns
from datamill.experiment.quantities import format_size
from datamill.protocol.api.members.administration import BackupLine


@click.command()
@click.option("--list", "only_list", is_flag=True, help="Make none: list those that there are.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@coordinator_options
def backup(only_list: bool, as_json: bool, url: str | None, key: str | None) -> None:
    """Copy the coordinator's database into its data folder: administrators only.

    The latest seven are kept there. Copy them and the files of the data folder to another machine:
    docs/howto/coordinator.md has the order, and how it is put back.
    """
    with connect(url, key) as coordinator:
        made = None if only_list else coordinator.post("/backups", BackupLine)
        found = coordinator.get("/backups", list[BackupLine])
    if made is None:
        told = f"{count_nouns(len(found), 'backup')} in the folder backups of its data folder"
    else:
        told = f"{made.name} is made: {format_size(made.size_bytes)}"
    if as_json:
        click.echo(spell_answer(f"{told}.", backups=found))
        return
    print_clean(told)
    for item in found:
        print_clean(f"  {item.name}  {format_size(item.size_bytes)}  {format_moment(item.made_unix_s)}")
