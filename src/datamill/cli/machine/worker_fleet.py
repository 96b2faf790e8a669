"""`datamill worker token` and `datamill worker join`: machines for a fleet."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

from datamill.cli.console import name_command
from datamill.cli.coordinator.coordinator_settings import coordinator_options, read_settings
from datamill.execution.worker import find_worker
from datamill.experiment.quantities import parse_duration
from datamill.protocol.api.accounts import MachineToken, TokenRequest


@click.command()
@click.option("--life", default="24h", metavar="TIME", help="How long it is good for [24h].")
@click.option("--quiet", is_flag=True, help="Print the token alone.")
@coordinator_options
def token(life: str, quiet: bool, url: str | None, key: str | None) -> None:
    """Make a token that lets one machine join the fleet, once; the machine will be yours."""
    # Imported late: `join` needs none of it.
    from datamill.cli.coordinator.coordinator_client import connect

    life_s = parse_duration(life, where="--life")
    settings = read_settings(url, key)
    with connect(url, key) as coordinator:
        made = coordinator.post("/tokens", MachineToken, TokenRequest(life_s))
    click.echo(made.token)
    if not quiet:
        until = time.strftime("%Y-%m-%d %H:%M", time.localtime(made.expires_unix_s))
        click.echo(
            f"Good for one machine until {until}; type there: "
            f"{name_command()} worker join {settings.url} --token {made.token}",
            err=True,
        )


@click.command()
@click.argument("url")
@click.option("--token", metavar="TOKEN", help="From datamill worker token; not needed to join again.")
@click.option("--name", metavar="NAME", help="What the machine is called in the fleet [its own name].")
@click.option(
    "--state", type=click.Path(path_type=Path), metavar="DIR", help="Where the worker keeps its state."
)
@click.option(
    "--policy",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="What you allow: users, packages, factors, reboots.",
)
@click.option("--reboot-command", metavar="COMMAND", help="How this machine is rebooted.")
@click.option("--once", is_flag=True, help="Leave after one trial.")
def join(
    url: str,
    token: str | None,
    name: str | None,
    state: Path | None,
    policy: Path | None,
    reboot_command: str | None,
    once: bool,
) -> None:
    """Make this machine a worker of the coordinator at URL, and serve trials until Ctrl-C.

    A machine that joined before needs no token again: its identity is in its state folder.
    """
    arguments = [url]
    for option, value in (
        ("--token", token),
        ("--name", name),
        ("--state", state),
        ("--policy", policy),
        ("--reboot-command", reboot_command),
    ):
        if value is not None:
            arguments += [option, str(value)]
    if once:
        arguments.append("--once")
    binary = str(find_worker())
    # The agent takes this process's place: nothing of Python's is awake while it waits or measures.
    sys.stdout.flush()
    os.execv(binary, [binary, "join", *arguments])
