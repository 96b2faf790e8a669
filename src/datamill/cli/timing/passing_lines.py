"""Lines on a terminal that show how measuring goes on, and are gone when it has ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from datamill.cli.console import tell_waiting


class PassingLines:
    """Shows lines on a terminal; shows nothing on anything else.

    Args:
        console: standard error: what is answered goes to standard output alone.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        """Start the display."""
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the display away."""
        if self._console.is_terminal:
            self._live.stop()

    def tell_waiting(self, sentence: str) -> None:
        """Say that something else is measured here."""
        tell_waiting(sentence)

    def _show(self, lines: Sequence[str]) -> None:
        if self._console.is_terminal:
            text = Text("\n".join(lines), style="dim", overflow="ellipsis", no_wrap=True)
            self._live.update(text, refresh=True)
