"""`datamill selection`: which benchmarks must run for this commit?"""

from __future__ import annotations

import click

from datamill.cli.selection.functions import functions
from datamill.cli.selection.profile import profile


@click.group()
def selection() -> None:
    """Tell from two versions of a program which benchmarks must run."""


selection.add_command(functions)
selection.add_command(profile)
