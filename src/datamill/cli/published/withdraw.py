"""`datamill withdraw`: a publication that should not be relied on."""

from __future__ import annotations

import click

from datamill.cli.console import print_clean
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.published.publications import quote_key
from datamill.cli.published.publish import confirm_in_public
from datamill.protocol.api.publications import PublicationLine, WithdrawalRequest


@click.command()
@click.argument("publication", metavar="KEY")
@click.option("--reason", metavar="TEXT", required=True, help="Why: readers who cite it find this there.")
@click.option("--yes", is_flag=True, help="Withdraw without asking. Needed without a terminal.")
@coordinator_options
def withdraw(publication: str, reason: str, yes: bool, url: str | None, key: str | None) -> None:
    """Withdraw the publication KEY of yours: its address stays and says why, its archive is gone.

    KEY is the end of its address, such as 3f1c09ab27de. It cannot be undone.
    """
    path = f"/publications/{quote_key(publication)}/withdraw"
    if not yes:
        confirm_in_public(f"Withdraw {publication} for good?")
    with connect(url, key) as coordinator:
        found = coordinator.post_once(path, PublicationLine, WithdrawalRequest(reason))
    print_clean(f"withdrawn: {found.title}\n{found.address} says why")
