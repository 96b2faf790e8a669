"""`datamill new`: an experiment that runs as it is."""

from __future__ import annotations

import os.path
import re
import shlex
from importlib.resources import files
from pathlib import Path

import click

from datamill.cli.console import name_command
from datamill.cli.experiment.new_from import list_obstacles, make_experiment_from
from datamill.experiment.errors import InputError
from datamill.experiment.file.packages.write_commands import derive_names, write_command_file
from datamill.experiment.file.parse import parse_experiment


@click.command()
@click.argument("name", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "packages",
    multiple=True,
    metavar="PACKAGE",
    help="Start from a package that comes with datamill (datamill packages lists them); can be repeated.",
)
@click.option(
    "--command",
    "commands",
    multiple=True,
    metavar="COMMAND",
    help="Measure a command line that runs in this folder; can be repeated.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="NAME=TARBALL",
    help="Sources that a package needs, instead of fetching them; can be repeated.",
)
def new(name: Path, packages: tuple[str, ...], commands: tuple[str, ...], sources: tuple[str, ...]) -> None:
    """Make the folder NAME with an experiment that runs as it is.

    It compares two ways to sort the same lines, both written in C, over optimisation levels and
    address-space randomisation; replace the packages by your own. With --from it measures packages
    that come with datamill: their sources are fetched where they need some. With --command it measures
    and compares command lines.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}", name.name):
        raise InputError(
            f'"{name.name}" cannot name an experiment',
            remedy="Use letters, digits, dots, underscores and dashes.",
        )
    if name.exists():
        raise InputError("it exists already", where=str(name), remedy="Choose another name.")
    if commands and (packages or sources):
        raise InputError(
            "--command goes with neither --from nor --source",
            remedy="Add [[package]] tables of the other kind to the experiment file.",
        )
    elsewhere = ""
    if commands:
        if _write_commands(name, commands):
            elsewhere = f" --out {shlex.quote(f'{Path.cwd().parent / name.name}-bundle')}"
        made, obstacles = ", ".join(derive_names(commands)), []
    elif packages:
        make_experiment_from(name, packages, _parse_sources(sources))
        made, obstacles = ", ".join(packages), list_obstacles(packages, name)
    elif sources:
        raise InputError("--source needs a package", remedy="Name one: --from PACKAGE.")
    else:
        _copy_template(name)
        made, obstacles = "two packages", []
    click.echo(f"Made {name}/experiment.toml with {made}.\n")
    for obstacle in obstacles:
        click.echo(f"  {obstacle}\n")
    click.echo(f"  {name_command()} check {name}    see what would run")
    click.echo(f"  {name_command()} run {name}{elsewhere}      run it")


def _parse_sources(sources: tuple[str, ...]) -> dict[str, Path]:
    parsed = {}
    for text in sources:
        source, equals, tarball = text.partition("=")
        if not (source and equals and tarball):
            raise InputError(
                f'"{text}" is not NAME=TARBALL',
                where="--source",
                remedy="Write, say, perl=perl-5.36.0.tar.xz.",
            )
        parsed[source] = Path(tarball)
    return parsed


def _write_commands(name: Path, commands: tuple[str, ...]) -> bool:
    """Make the folder of an experiment with commands, which run where they were typed.

    Tells whether that is so: then trials see this folder, and the bundle must lie elsewhere.
    """
    here = Path.cwd()
    # What holds more than files of the user is shown to no trial.
    shown = here not in (Path.home(), *map(Path, ("/", "/tmp", "/var/tmp")))
    directory = os.path.relpath(here, name.absolute()) if shown else ""
    text = write_command_file(name.name, commands, directory)
    parse_experiment(text, name=f"{name}/experiment.toml")
    name.mkdir(parents=True)
    (name / "experiment.toml").write_text(text, encoding="utf-8")
    return shown


def _copy_template(name: Path) -> None:
    template = files("datamill.cli.experiment") / "template"
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
