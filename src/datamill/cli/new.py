"""`datamill new`: an experiment that runs as it is."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import click

from datamill.cli.console import name_command
from datamill.experiment.errors import InputError


@click.command()
@click.argument("name", type=click.Path(path_type=Path))
def new(name: Path) -> None:
    """Make the folder NAME with an experiment that runs as it is.

    It compares two ways to sort the same lines, both written in C, over optimisation levels and
    address-space randomisation. Replace the packages by your own.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}", name.name):
        raise InputError(
            f'"{name.name}" cannot name an experiment',
            remedy="Use letters, digits, dots, underscores and dashes.",
        )
    if name.exists():
        raise InputError("it exists already", where=str(name), remedy="Choose another name.")
    template = files("datamill.cli") / "template"
    pending = [(template, name)]
    while pending:
        source, target = pending.pop()
        if source.is_dir():
            target.mkdir(parents=True)
            pending.extend((child, target / child.name) for child in source.iterdir())
            continue
        target.write_text(source.read_text(encoding="utf-8").replace("@NAME@", name.name), encoding="utf-8")
        if target.suffix == ".sh":
            target.chmod(0o755)
    click.echo(f"Made {name}/experiment.toml with two packages.\n")
    click.echo(
        f"  {name_command()} check {name}    see what would run\n  {name_command()} run {name}      run it"
    )
