"""`datamill publish`: a result for everybody, at an address that stays."""

from __future__ import annotations

import sys

import click

from datamill.cli.console import print_clean
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.json_answer import spell_answer
from datamill.experiment.errors import InputError
from datamill.experiment.quantities import format_size
from datamill.protocol.api.experiments import AnswerHead
from datamill.protocol.api.publications import PublicationLine, PublishRequest
from datamill.results.crates.description import LICENCES, USUAL_LICENCE


@click.command()
@click.argument("number", metavar="ID", type=click.IntRange(min=1))
@click.option(
    "--author", "authors", metavar="NAME", multiple=True, required=True, help='"Family, Given"; repeatable.'
)
@click.option("--title", metavar="TEXT", help="What was asked, in a few words [the experiment's question].")
@click.option(
    "--licence",
    type=click.Choice(list(LICENCES)),
    default=USUAL_LICENCE,
    show_default=True,
    help="What readers may do with it.",
)
@click.option("--summary", metavar="TEXT", default="", help="A few sentences for readers.")
@click.option(
    "--organisation", metavar="NAME", default="", help='Where its authors work, as "Name <https://address>".'
)
@click.option("--without-artifacts", is_flag=True, help="Hold back what trials printed and collected.")
@click.option("--yes", is_flag=True, help="Publish without asking. Needed without a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print the publication as JSON.")
@coordinator_options
def publish(
    number: int,
    authors: tuple[str, ...],
    title: str | None,
    licence: str,
    summary: str,
    organisation: str,
    without_artifacts: bool,
    yes: bool,
    as_json: bool,
    url: str | None,
    key: str | None,
) -> None:
    """Publish experiment ID of yours, which has ended: answer, citation and archive, for everybody.

    Everybody who reaches the coordinator may read a publication without an account, and it never changes.
    It can be withdrawn, with a reason, and then its address says so.
    """
    with connect(url, key) as coordinator:
        if title is None:
            head = coordinator.get(f"/experiments/{number}/answer", AnswerHead)
            title = head.question or head.experiment
        if not yes:
            confirm_in_public(f"Publish experiment {number} for everybody, for ever?")
        held = ("artifacts",) if without_artifacts else ()
        body = PublishRequest(title, authors, licence, summary, held, organisation)  # type: ignore[arg-type]
        made = coordinator.post_once(f"/experiments/{number}/publish", PublicationLine, body)
    if as_json:
        click.echo(spell_answer(f"Experiment {number} is published as {made.key}.", publication=made))
        return
    print_clean(f"Published: {made.address}\narchive: {format_size(made.size_bytes)}, SHA-256 {made.sha256}")
    print_clean(made.citation.strip())


def confirm_in_public(question: str) -> None:
    """Ask before something is done that everybody sees.

    Raises:
        InputError: when there is nobody to ask.
        click.Abort: when the answer is no.
    """
    if not sys.stdin.isatty():
        raise InputError(
            "nothing was done: without a terminal nobody can be asked", remedy="Confirm with --yes."
        )
    click.confirm(question, abort=True, err=True)
