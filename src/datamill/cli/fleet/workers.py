"""`datamill workers`: the machines of the fleet."""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.parse import quote

import click
from rich import box
from rich.table import Table
from rich.text import Text

from datamill.cli.console import make_table_console, print_clean
from datamill.cli.coordinator.coordinator_client import CoordinatorClient, connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.coordinator.group_options import connect_in_group, keep_options
from datamill.cli.json_answer import spell_answer
from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns
from datamill.experiment.quantities import format_duration
from datamill.protocol.api.fleet.workers import WorkerLine

#: Machines in one answer of the API.
_PAGE = 1000
_STATE_STYLES = {
    "idle": "green",
    "busy": "cyan",
    "away": "yellow",
    "silent": "red",
    "drained": "yellow",
    "removed": "dim",
}


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@coordinator_options
@click.pass_context
def workers(context: click.Context, as_json: bool, url: str | None, key: str | None) -> None:
    """List the machines of the fleet, with what they are and what they do."""
    if context.invoked_subcommand is not None:
        keep_options(context, url, key)
        return
    with connect(url, key) as coordinator:
        found = list(list_workers(coordinator))
    if as_json:
        click.echo(
            spell_answer(
                f"The fleet has {count_nouns(len(found), 'worker')}.",
                workers=found,
                warnings=[
                    f"{worker.name} is {worker.state}: {worker.state_reason.rstrip('.')}."
                    for worker in found
                    if worker.state_reason
                ],
            )
        )
        return
    console = make_table_console()
    if not found:
        console.print("The fleet has no workers: datamill worker token here, datamill worker join there.")
        return
    table = Table(box=box.SIMPLE, pad_edge=False)
    for header in (
        "worker",
        "state",
        "arch",
        "processor",
        "cores",
        "memory",
        "distribution",
        "owner",
        "heard of",
    ):
        table.add_column(header, no_wrap=header != "processor", overflow="fold")
    now_s = time.time()
    for worker in found:
        hardware = worker.hardware
        heard_s = max(0.0, now_s - worker.heard_unix_s)
        table.add_row(
            Text(worker.name),
            Text(worker.state, style=_STATE_STYLES.get(worker.state, "")),
            *(
                Text(hardware.get(name, ""))
                for name in ("arch", "cpu_model", "cores", "memory", "distribution")
            ),
            Text(worker.owner),
            Text(f"{format_duration(heard_s)} ago"),
        )
    console.print(table)
    for worker in found:
        if worker.state_reason:
            why = f"{worker.name} is {worker.state}: {worker.state_reason}"
            console.print(Text(why, style="dim"))


def list_workers(coordinator: CoordinatorClient) -> Iterator[WorkerLine]:
    """Yield all machines of the fleet by name, a page at a time."""
    after = ""
    while True:
        page = coordinator.get("/workers", list[WorkerLine], after=after)
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].name


def _change(context: click.Context, verb: str, name: str, url: str | None, key: str | None) -> None:
    if "/" in name:
        raise InputError(f'there is no worker "{name}"', remedy="datamill workers lists them.")
    with connect_in_group(context, url, key) as coordinator:
        worker = coordinator.post(f"/workers/{quote(name, safe='')}/{verb}", WorkerLine)
    print_clean(f"worker {worker.name}: {worker.state}")


@workers.command()
@click.argument("name")
@coordinator_options
@click.pass_context
def drain(context: click.Context, name: str, url: str | None, key: str | None) -> None:
    """Give worker NAME no further trials; those that it still had go to others like it."""
    _change(context, "drain", name, url, key)


@workers.command()
@click.argument("name")
@coordinator_options
@click.pass_context
def resume(context: click.Context, name: str, url: str | None, key: str | None) -> None:
    """Give the drained worker NAME trials again."""
    _change(context, "resume", name, url, key)


@workers.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@coordinator_options
@click.pass_context
def remove(context: click.Context, name: str, yes: bool, url: str | None, key: str | None) -> None:
    """Remove worker NAME for good: its credentials become void, its trials stay."""
    if not yes:
        click.confirm(f"Remove {name} for good?", abort=True, err=True)
    _change(context, "remove", name, url, key)
