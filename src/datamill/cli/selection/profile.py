"""`datamill selection profile`: what a benchmark executes of a program, function by function."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.console import make_console
from datamill.conduct.selection.profile_command import profile_command
from datamill.conduct.selection.read_program import read_program
from datamill.report.selection.profile_statement import spell_profile, state_profile
from datamill.report.tables.text import render_text


@click.command()
@click.argument("program", type=click.Path(path_type=Path))
@click.argument("command", nargs=-1, required=True)
@click.option("--name", metavar="BENCHMARK", help="What the benchmark is called; else the command.")
@click.option("--timeout", type=float, metavar="SECONDS", help="How long it may take while it is counted.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def profile(
    program: Path, command: tuple[str, ...], name: str | None, timeout: float | None, as_json: bool
) -> None:
    """Count the calls and instructions of each function of PROGRAM while COMMAND executes.

    COMMAND executes once, under valgrind, some fifty times as slowly. The counts do not depend on the
    machine's load. Put -- before a command with options.
    """
    table = read_program(program)
    found = profile_command(command, program, table, name or " ".join(command), timeout)
    if as_json:
        click.echo(spell_profile(found))
        return
    make_console().print(render_text(state_profile(found)), markup=False, soft_wrap=True)
