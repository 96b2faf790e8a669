"""A bundle as an RO-Crate: what is asked beside the bundle, and the file."""

from __future__ import annotations

import getpass
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path

import click

from datamill.experiment.errors import InputError
from datamill.results.bundles.opening import open_bundle
from datamill.results.crates.description import LICENCES, USUAL_LICENCE, describe
from datamill.results.crates.writing import write_crate


@dataclass(frozen=True, slots=True)
class AskedCrate:
    """What a user says of a crate; empty is the usual."""

    title: str
    authors: tuple[str, ...]
    licence: str
    organisation: str
    without_artifacts: bool


def crate_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a crate; the verb gets `asked`."""
    options = [
        click.option("--title", metavar="TEXT", default="", help="rocrate: its title [the question]."),
        click.option(
            "--author",
            "authors",
            metavar="NAME",
            multiple=True,
            help='rocrate: an author, as "Family, Given"; may be given several times [your user name].',
        ),
        click.option(
            "--license",
            "licence",
            type=click.Choice(list(LICENCES)),
            default=USUAL_LICENCE,
            show_default=True,
            help="rocrate: the licence under which others may use it.",
        ),
        click.option(
            "--organisation",
            metavar="NAME",
            default="",
            help='rocrate: where its authors work, as "Name <https://address>".',
        ),
        click.option(
            "--without-artifacts", is_flag=True, help="rocrate: leave out what trials printed and collected."
        ),
    ]

    @wraps(verb)
    def gather(
        title: str,
        authors: tuple[str, ...],
        licence: str,
        organisation: str,
        without_artifacts: bool,
        **others: object,
    ) -> None:
        verb(asked=AskedCrate(title, authors, licence, organisation, without_artifacts), **others)

    for option in reversed(options):
        gather = option(gather)
    return gather


def export_crate(data: Path, out: Path | None, asked: AskedCrate, *, force: bool) -> None:
    """Write the bundle in a folder as a crate.

    Raises:
        InputError: it is no bundle, or the file cannot be written.
    """
    target = out or Path(f"{data.resolve().name}.crate.zip")
    if target == Path("-"):
        raise InputError("a zip file is not text", where="--out", remedy="Name a file.")
    if not target.parent.is_dir():
        raise InputError("there is no such folder", where=str(target.parent), remedy="Make it first.")
    if target.is_dir():
        raise InputError("this is a folder", where=str(target), remedy="Name a file in it.")
    if target.exists() and not force:
        raise InputError(
            "the file exists already",
            where=str(target),
            remedy="Choose another, or overwrite it with --force.",
        )
    experiment = open_bundle(data).experiment
    description = describe(
        asked.title or experiment.question or experiment.name,
        "\n".join(asked.authors) or getpass.getuser(),
        asked.licence,
        now_s=time.time(),
        organisation=asked.organisation,
    )
    facts = write_crate(
        data, target, description, held_back=("artifacts",) if asked.without_artifacts else ()
    )
    click.echo(f"Written: {target}, {facts.trials} trials", err=True)
