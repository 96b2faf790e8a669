"""Which coordinator the verbs of a group mean: their own options, or those that stand before the verb."""

from __future__ import annotations

import click

from datamill.cli.coordinator.coordinator_client import CoordinatorClient, connect


def keep_options(context: click.Context, url: str | None, key: str | None) -> None:
    """Keep the options of a group for the verb behind it."""
    context.obj = (url, key)


def connect_in_group(context: click.Context, url: str | None, key: str | None) -> CoordinatorClient:
    """Return the coordinator that a verb of a group, or the group, was given.

    Raises:
        InputError: when it is not known which that is.
    """
    group_url, group_key = context.obj
    return connect(url or group_url, key or group_key)
