"""A console of Rich that obeys nothing of what it prints."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.segment import Segment

from datamill.cli.console import clean_for_terminal


class CleanConsole(Console):
    """A console that prints what workers and other users wrote as it is, and obeys none of it."""

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        # All that is printed passes here, with what Rich itself tells the terminal kept apart.
        return super()._render_buffer(
            segment if segment.control else Segment(clean_for_terminal(segment.text), segment.style)
            for segment in buffer
        )
