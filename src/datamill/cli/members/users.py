"""`datamill users`: accounts of a coordinator, for administrators."""

from __future__ import annotations

from urllib.parse import quote

import click

from datamill.cli.console import print_clean
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.coordinator.group_options import connect_in_group, keep_options
from datamill.cli.json_answer import spell_answer
from datamill.cli.members.rooms import list_users, print_rooms
from datamill.experiment.messages.phrases import count_nouns
from datamill.protocol.api.members.administration import MadeUser, UserLine, UserRequest


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@coordinator_options
@click.pass_context
def users(context: click.Context, as_json: bool, url: str | None, key: str | None) -> None:
    """List the accounts with what each has here and may have: administrators only."""
    if context.invoked_subcommand is not None:
        keep_options(context, url, key)
        return
    with connect(url, key) as coordinator:
        found = list(list_users(coordinator))
    if as_json:
        click.echo(spell_answer(f"The coordinator has {count_nouns(len(found), 'account')}.", users=found))
        return
    print_rooms(found)
    for item in found:
        if not item.active:
            print_clean(f"{item.user} is closed")


@users.command()
@click.argument("name")
@click.option("--admin", is_flag=True, help="An administrator, who may see and do everything.")
@coordinator_options
@click.pass_context
def add(context: click.Context, name: str, admin: bool, url: str | None, key: str | None) -> None:
    """Make an account for NAME; its password is shown once."""
    with connect_in_group(context, url, key) as coordinator:
        made = coordinator.post("/users", MadeUser, UserRequest(name, admin))
    print_clean(f"{made.user}: the password, shown this once, is {made.password}")


@users.command()
@click.argument("name")
@coordinator_options
@click.pass_context
def close(context: click.Context, name: str, url: str | None, key: str | None) -> None:
    """Close the account of NAME: it can neither log in nor use a key."""
    _change(context, name, "close", url, key)


@users.command("open")
@click.argument("name")
@coordinator_options
@click.pass_context
def reopen(context: click.Context, name: str, url: str | None, key: str | None) -> None:
    """Open the account of NAME again."""
    _change(context, name, "open", url, key)


def _change(context: click.Context, name: str, verb: str, url: str | None, key: str | None) -> None:
    with connect_in_group(context, url, key) as coordinator:
        found = coordinator.post(f"/users/{quote(name, safe='')}/{verb}", UserLine)
    print_clean(f"{found.user}: {'open' if found.active else 'closed'}")
