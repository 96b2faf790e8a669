"""`datamill retention`: how long files are kept on the coordinator."""

from __future__ import annotations

import click

from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.json_answer import spell_answer
from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns
from datamill.experiment.quantities import format_size
from datamill.protocol.api.members.administration import Removable, RetentionRequest, RetentionState

_EVER = "ever"
#: What the coordinator counts where nothing is set.
_SHOWN_DAYS = 90


@click.command()
@click.option("--uploads", metavar="DAYS", help='Keep packages that no experiment has so long, or "ever".')
@click.option(
    "--artifacts", metavar="DAYS", help='Keep what attempts of private experiments left so long, or "ever".'
)
@click.option("--yes", is_flag=True, help="Change it without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@coordinator_options
def retention(
    uploads: str | None, artifacts: str | None, yes: bool, as_json: bool, url: str | None, key: str | None
) -> None:
    """Show or say how long files are kept: administrators only.

    Records, designs and tables are kept for ever, and so are all files of public experiments.
    """
    with connect(url, key) as coordinator:
        found = coordinator.get("/retention", RetentionState)
        if uploads is not None or artifacts is not None:
            body = RetentionRequest(
                found.uploads_days if uploads is None else _read_days(uploads, "--uploads"),
                found.artifacts_days if artifacts is None else _read_days(artifacts, "--artifacts"),
            )
            if not yes:
                click.confirm("Files that are older go for good. Go on?", abort=True, err=True)
            found = coordinator.post("/retention", RetentionState, body)
    told = (
        _say("Uploads that no experiment has", found.uploads_days, found.uploads),
        _say("Files that attempts of private experiments left", found.artifacts_days, found.artifacts),
    )
    click.echo(spell_answer(*told, retention=found) if as_json else "\n".join(told))


def _read_days(text: str, where: str) -> int | None:
    if text == _EVER:
        return None
    if not (text.isascii() and text.isdecimal()) or not 1 <= len(text) <= 5 or int(text) < 1:
        raise InputError(
            f'"{text[:40]}" is not a number of days', where=where, remedy='Give, say, 90, or "ever".'
        )
    return int(text)


def _say(what: str, days: int | None, older: Removable) -> str:
    kept = "for ever" if days is None else f"for {count_nouns(days, 'day')}"
    which = f"older than {days or _SHOWN_DAYS} days"
    size = format_size(older.size_bytes)
    return f"{what} are kept {kept}: {count_nouns(older.files, 'file')}, {size} {which}."
