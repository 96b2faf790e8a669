"""What the verbs that run a program under observation are asked alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

#: What follows the program's name is the program's.
OF_A_PROGRAM: dict[str, bool | int] = {
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
    "max_content_width": 100,
}

ask_program: Decorator = click.argument(
    "command", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM ARGUMENT..."
)
ask_json: Decorator = click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write what was found as JSON.",
)
ask_quiet: Decorator = click.option("--quiet", is_flag=True, help="Print no report.")


def ask_table(name: str, help_text: str) -> Decorator:
    """Return the option that names a file for a table: Parquet or CSV, by its ending."""
    return click.option(name, type=click.Path(path_type=Path), metavar="FILE.parquet", help=help_text)
