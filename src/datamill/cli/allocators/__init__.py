"""`datamill allocators`: which allocations take the slow path; one module a verb."""

from __future__ import annotations

import click

from datamill.cli.verbs import VerbGroup

_VERBS = {
    "analyze": "Say whether binned calls explain the slow ones, from a table of calls.",
    "kernel": "Record a program's system calls, and what the kernel did in each.",
    "trace": "Count the allocations of a program that take the slow path, by line.",
}


@click.group(
    cls=VerbGroup,
    verbs=_VERBS,
    package="datamill.cli.allocators",
    short_help="Find allocations that take the slow path, and their lines.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def allocators() -> None:
    """Find the allocations of a program that take the slow path, and the lines that ask for them."""
