"""`datamill keys`: keys for the API, each for what it was made for."""

from __future__ import annotations

import click
from rich import box
from rich.table import Table
from rich.text import Text

from datamill.cli.console import make_table_console, print_clean
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import KEY_VARIABLE, coordinator_options
from datamill.cli.coordinator.group_options import connect_in_group, keep_options
from datamill.cli.json_answer import spell_answer
from datamill.cli.members.moments import format_day
from datamill.experiment.messages.phrases import count_nouns
from datamill.protocol.api.accounts import SCOPES, KeyOwner, Scope
from datamill.protocol.api.members.keys import KeyLine, KeyRequest, MadeKey, RevocationRequest


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@coordinator_options
@click.pass_context
def keys(context: click.Context, as_json: bool, url: str | None, key: str | None) -> None:
    """List your keys for the coordinator, with what each may be used for."""
    if context.invoked_subcommand is not None:
        keep_options(context, url, key)
        return
    with connect(url, key) as coordinator:
        found = coordinator.get("/keys", list[KeyLine])
    good = sum(item.revoked_unix_s is None for item in found)
    if as_json:
        click.echo(spell_answer(f"{count_nouns(good, 'key')} of yours may be used.", keys=found))
        return
    table = Table(box=box.SIMPLE, pad_edge=False)
    for header in ("name", "for", "made", "state"):
        table.add_column(header, overflow="fold")
    for item in found:
        ended = item.revoked_unix_s
        state = "good" if ended is None else f"revoked {format_day(ended)}"
        table.add_row(Text(item.name), ", ".join(item.scopes), format_day(item.made_unix_s), state)
    make_table_console().print(table)


@keys.command()
@click.argument("name")
@click.option(
    "--for",
    "scopes",
    type=click.Choice(list(SCOPES)),
    multiple=True,
    help="What it may be used for, repeatable [all that the key which asks may].",
)
@coordinator_options
@click.pass_context
def make(
    context: click.Context, name: str, scopes: tuple[Scope, ...], url: str | None, key: str | None
) -> None:
    """Make a key called NAME, and show it once.

    For a server that only submits: datamill keys make ci --for read --for submit
    """
    with connect_in_group(context, url, key) as coordinator:
        if not scopes:
            owned = coordinator.get("/me", KeyOwner).scopes
            scopes = tuple(scope for scope in SCOPES if scope in owned)
        made = coordinator.post("/keys", MadeKey, KeyRequest(name, scopes))
    print_clean(f"for {', '.join(made.scopes)}; shown this once:", err=True)
    print_clean(f"{KEY_VARIABLE}={made.key}")


@keys.command()
@click.argument("name")
@coordinator_options
@click.pass_context
def revoke(context: click.Context, name: str, url: str | None, key: str | None) -> None:
    """Void your keys called NAME, at once."""
    with connect_in_group(context, url, key) as coordinator:
        left = coordinator.post("/keys/revoke", list[KeyLine], RevocationRequest(name))
    good = sum(item.revoked_unix_s is None for item in left)
    print_clean(f"{name} is void; {count_nouns(good, 'key')} of yours may be used")
