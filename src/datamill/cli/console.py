"""The terminal, or whatever stands in for it."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    # Draws terminals, and takes a while to load: the first execution of a timing does not wait for it.
    from rich.console import Console

#: What moves cursors, changes titles or hides what follows: all control characters but tabs and ends of
#: lines, and those that turn the direction of writing round.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean_for_terminal(text: str) -> str:
    """Return a text with nothing in it that a terminal would obey: others may have written it."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def escape_for_terminal(json_text: str) -> str:
    """Return the same JSON with what a terminal would obey escaped: outside texts JSON has none of it."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text)


def print_clean(text: str, *, err: bool = False) -> None:
    """Print what a coordinator told, in which others have a say, with nothing that a terminal obeys."""
    click.echo(clean_for_terminal(text), err=err)


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that wraps lines on a terminal and leaves them whole for a file or a pipe."""
    from datamill.cli.clean_console import CleanConsole

    return CleanConsole(stderr=stderr, highlight=False, soft_wrap=not sys.stdout.isatty())


def make_table_console() -> Console:
    """Return a console for tables of several columns, wide where it is no terminal."""
    from datamill.cli.clean_console import CleanConsole

    return CleanConsole(highlight=False, width=None if sys.stdout.isatty() else 160)


def name_command() -> str:
    """Return the command as the user typed it, so that what we print can be typed again."""
    typed = sys.argv[0]
    on_path = shutil.which("datamill")
    return "datamill" if Path(typed).name != "datamill" or typed == on_path else typed


def tell_waiting(sentence: str) -> None:
    """Say on standard error what is waited for."""
    from datamill.cli.clean_console import CleanConsole

    CleanConsole(stderr=True, highlight=False, soft_wrap=True).print(sentence, style="dim", markup=False)
