"""`datamill quotas`: what one has on the coordinator and may have, and what others may have."""

from __future__ import annotations

from urllib.parse import quote

import click

from datamill.cli.console import print_clean
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.coordinator.group_options import connect_in_group, keep_options
from datamill.cli.json_answer import spell_answer
from datamill.cli.members.rooms import describe_room, list_users
from datamill.experiment.errors import InputError
from datamill.experiment.quantities import parse_size
from datamill.protocol.api.members.administration import QuotaRequest, UserLine, UserRoom

_USUAL = "usual"


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@coordinator_options
@click.pass_context
def quotas(context: click.Context, as_json: bool, url: str | None, key: str | None) -> None:
    """Show how much you have on the coordinator, of how much you may have."""
    if context.invoked_subcommand is not None:
        keep_options(context, url, key)
        return
    with connect(url, key) as coordinator:
        found = coordinator.get("/me/room", UserRoom)
    told = f"{describe_room(found)}."
    if as_json:
        click.echo(spell_answer(told, room=found))
        return
    print_clean(told)


@quotas.command("set")
@click.argument("name")
@click.option("--files", metavar="SIZE", help='Bytes of files, such as 20GiB, or "usual".')
@click.option("--trials", metavar="N", help='Trials that have not ended, or "usual".')
@coordinator_options
@click.pass_context
def set_quota(
    context: click.Context,
    name: str,
    files: str | None,
    trials: str | None,
    url: str | None,
    key: str | None,
) -> None:
    """Say what the user NAME may have: administrators only. What is there already stays."""
    if files is None and trials is None:
        raise click.UsageError("what is the quota? Give --files, --trials, or both.")
    with connect_in_group(context, url, key) as coordinator:
        now = next((item for item in list_users(coordinator) if item.user == name), None)
        if now is None:
            raise InputError(f'there is no user "{name}"', remedy="datamill users lists them.")
        body = QuotaRequest(
            now.own_bytes if files is None else _read_size(files),
            now.own_trials if trials is None else _read_count(trials),
        )
        found = coordinator.post(f"/users/{quote(name, safe='')}/quota", UserLine, body)
    print_clean(describe_room(found))


def _read_size(text: str) -> int | None:
    return None if text == _USUAL else parse_size(text, where="--files")


def _read_count(text: str) -> int | None:
    if text == _USUAL:
        return None
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise InputError(
            f'"{text[:40]}" is not a number of trials', where="--trials", remedy="Give, say, 100000."
        )
    return int(text)
