"""Lines on a terminal that show how measuring goes on, and are gone when it has ended."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from datamill.cli.console import clean_for_terminal, make_console, tell_waiting

if TYPE_CHECKING:
    from rich.live import Live

#: Takes a line away; what is between the others is hardly seen.
_ERASE, _DIM, _PLAIN = "\r\x1b[2K", "\x1b[2m", "\x1b[0m"


class PassingLines:
    """Shows lines on standard error, if that is a terminal; answers go to standard output alone.

    Args:
        quiet: whether to show nothing there either.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._is_terminal = (
            not quiet and sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
        )
        self._live: Live | None = None
        self._has_plain_line = False

    def __enter__(self) -> Self:
        """Start the display."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the display away."""
        self._erase_plain_line()
        if self._live is not None:
            self._live.stop()
            self._live = None

    def tell_waiting(self, sentence: str) -> None:
        """Say that something else is measured here."""
        tell_waiting(sentence)

    def _show_plain(self, line: str) -> None:
        """Show one line, while what draws several, which takes a while to load, is not there yet."""
        if self._live is not None:
            self._show([line])
        elif self._is_terminal:
            # Half of the columns: some characters take two.
            width = shutil.get_terminal_size().columns - 1
            shown = clean_for_terminal(line)[: width if line.isascii() else width // 2]
            sys.stderr.write(f"{_ERASE}{_DIM}{shown}{_PLAIN}")
            sys.stderr.flush()
            self._has_plain_line = True

    def _show(self, lines: Sequence[str]) -> None:
        if self._is_terminal:
            from rich.text import Text

            text = Text("\n".join(lines), style="dim", overflow="ellipsis", no_wrap=True)
            self._draw().update(text, refresh=True)

    def _print_above(self, text: str) -> None:
        """Print what stays, above the lines that pass."""
        if self._is_terminal:
            self._draw().console.print(text, style="yellow", markup=False, highlight=False)

    def _draw(self) -> Live:
        self._erase_plain_line()
        if self._live is None:
            from rich.live import Live

            self._live = Live(console=make_console(stderr=True), auto_refresh=False, transient=True)
            self._live.start()
        return self._live

    def _erase_plain_line(self) -> None:
        if self._has_plain_line:
            sys.stderr.write(_ERASE)
            sys.stderr.flush()
            self._has_plain_line = False
