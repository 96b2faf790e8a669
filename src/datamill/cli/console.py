"""The terminal, or whatever stands in for it."""

from __future__ import annotations

import sys

from rich.console import Console


def make_console() -> Console:
    """Return a console that wraps lines on a terminal and leaves them whole for a file or a pipe."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())
