"""`datamill queue`: who waits for the machines of the fleet, and how their time is divided."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import click
from rich import box
from rich.table import Table
from rich.text import Text

from datamill.cli.console import make_table_console, print_clean
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.coordinator.group_options import connect_in_group, keep_options
from datamill.cli.json_answer import spell_answer
from datamill.experiment.messages.numbers import format_count, format_figures, format_share
from datamill.experiment.messages.phrases import count_nouns
from datamill.experiment.quantities import format_duration
from datamill.protocol.api.fleet.queue import (
    FleetQueue,
    PriorityRequest,
    QueuedExperiment,
    QueuedUser,
    ShareRequest,
    UserShareLine,
)
from datamill.protocol.api.fleet.stages import StageLine


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@coordinator_options
@click.pass_context
def queue(context: click.Context, as_json: bool, url: str | None, key: str | None) -> None:
    """Show who waits for what, what share each was promised and received, and when experiments begin.

    Each machine divides its time among the users who wait for it by their shares, and a user's part
    among that user's experiments by their priorities.
    """
    if context.invoked_subcommand is not None:
        keep_options(context, url, key)
        return
    with connect(url, key) as coordinator:
        found = coordinator.get("/queue", FleetQueue)
    if as_json:
        click.echo(spell_answer(_say(found), users=found.users, experiments=found.experiments))
        return
    console = make_table_console()
    console.print(_say(found))
    if found.users:
        console.print(_tabulate_users(found.users))
    if found.experiments:
        console.print(_tabulate_experiments(found.experiments))
    if any(item.stages for item in found.experiments):
        console.print(tabulate_stages([(str(item.experiment), item.stages) for item in found.experiments]))


def _say(found: FleetQueue) -> str:
    if not found.experiments:
        return "Nothing waits: every experiment has ended."
    experiments = count_nouns(len(found.experiments), "experiment")
    have = "has" if len(found.experiments) == 1 else "have"
    users = count_nouns(len(found.users), "user")
    wait = "waits for machines or has some" if len(found.users) == 1 else "wait for machines or have some"
    return f"{experiments} {have} not ended; {users} {wait}."


def _tabulate_users(users: tuple[QueuedUser, ...]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("user", no_wrap=True)
    for header in ("share", "machines", "promised now", "promised so far", "received so far"):
        table.add_column(header, justify="right")
    for user in users:
        table.add_row(
            Text(user.user),
            format_figures(user.share),
            format_count(user.machines),
            format_share(user.promised),
            format_duration(user.promised_s),
            format_duration(user.received_s),
        )
    return table


def _tabulate_experiments(experiments: tuple[QueuedExperiment, ...]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for header in ("ID", "experiment", "user", "waits for"):
        table.add_column(header, no_wrap=header != "waits for", overflow="fold")
    for header in ("priority", "ready", "under way", "later", "begins", "machine time"):
        table.add_column(header, justify="right")
    for item in experiments:
        table.add_row(
            str(item.experiment),
            Text(item.name or "another's"),
            Text(item.owner),
            Text(item.waits_for),
            format_figures(item.priority),
            format_count(item.ready),
            format_count(item.under_way),
            format_count(item.later),
            _say_when(item),
            format_duration(item.held_s),
        )
    return table


def tabulate_stages(experiments: Sequence[tuple[str, Sequence[StageLine]]]) -> Table:
    """Return how far the stages of experiments are, and what waits for which of them."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for header in ("ID", "stage"):
        table.add_column(header, no_wrap=True)
    for header in ("done", "under way", "ready", "waiting", "given up", "cancelled"):
        table.add_column(header, justify="right")
    table.add_column("waits for", no_wrap=True)
    for name, stages in experiments:
        for line in stages:
            counts = (line.done, line.under_way, line.ready, line.waiting, line.given_up, line.cancelled)
            table.add_row(name, line.stage, *(format_count(count) for count in counts), line.waits_for)
    return table


def _say_when(item: QueuedExperiment) -> str:
    if item.under_way:
        return "under way"
    if item.state == "held":
        return "when released"
    return "no telling" if item.begins_s is None else f"in about {format_duration(item.begins_s)}"


@queue.command()
@click.argument("user")
@click.argument("number", metavar="SHARE", type=click.FloatRange(0.01, 100.0))
@coordinator_options
@click.pass_context
def share(context: click.Context, user: str, number: float, url: str | None, key: str | None) -> None:
    """Give USER a share, where 1 is the usual one: administrators only."""
    with connect_in_group(context, url, key) as coordinator:
        given = coordinator.post(f"/users/{quote(user, safe='')}/share", UserShareLine, ShareRequest(number))
    lent = count_nouns(given.lent_machines, "machine")
    print_clean(
        f"{given.user}: share {format_figures(given.own_share)}, "
        f"with {lent} lent {format_figures(given.share)}"
    )


@queue.command()
@click.argument("experiment", metavar="ID", type=click.IntRange(min=1))
@click.argument("number", metavar="PRIORITY", type=click.FloatRange(0.1, 10.0))
@coordinator_options
@click.pass_context
def priority(
    context: click.Context, experiment: int, number: float, url: str | None, key: str | None
) -> None:
    """Give experiment ID a priority among those of its owner, where 1 is the usual one."""
    with connect_in_group(context, url, key) as coordinator:
        given = coordinator.post(
            f"/experiments/{experiment}/priority", QueuedExperiment, PriorityRequest(number)
        )
    print_clean(f"experiment {given.experiment}: priority {format_figures(given.priority)}")
