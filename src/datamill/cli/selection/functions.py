"""`datamill selection functions`: a program's functions, or what changed between two programs."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.console import make_console
from datamill.conduct.selection.read_program import read_program
from datamill.report.selection.functions_json import spell_changes, spell_program
from datamill.report.selection.functions_statement import state_changes, state_program
from datamill.report.tables.text import render_text
from datamill.selection.changes.table_changes import compare_tables


@click.command()
@click.argument("program", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def functions(program: Path, new: Path | None, as_json: bool) -> None:
    """List the functions of PROGRAM, or say what changed from PROGRAM to NEW.

    Programs and shared libraries (ELF) of x86-64, i386, aarch64, arm and riscv64 are read, not executed.
    A function that only moved, or whose data did, has not changed; nor has one in which only line numbers
    differ that the compiler put in, or names of other functions.
    """
    old_table = read_program(program)
    if new is None:
        click.echo(spell_program(old_table)) if as_json else _print(render_text(state_program(old_table)))
        return
    changes = compare_tables(old_table, read_program(new))
    click.echo(spell_changes(changes)) if as_json else _print(render_text(state_changes(changes)))


def _print(text: str) -> None:
    make_console().print(text, markup=False, soft_wrap=True)
