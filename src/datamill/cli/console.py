"""The terminal, or whatever stands in for it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from rich.console import Console


def make_console() -> Console:
    """Return a console that wraps lines on a terminal and leaves them whole for a file or a pipe."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def name_command() -> str:
    """Return the command as the user typed it, so that what we print can be typed again."""
    typed = sys.argv[0]
    on_path = shutil.which("datamill")
    return "datamill" if Path(typed).name != "datamill" or typed == on_path else typed
