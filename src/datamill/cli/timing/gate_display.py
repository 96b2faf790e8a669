"""What the terminal shows while a gate runs: how many benchmarks are still in doubt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from datamill.cli.console import tell_waiting
from datamill.experiment.quantities import format_duration

if TYPE_CHECKING:
    from datamill.analysis.gate.judge_benchmarks import BenchmarkVerdict

_WORDS = {"more": "slower", "less": "faster"}


class GateDisplay:
    """A `GateListener` on a terminal; silent where there is none.

    Args:
        console: standard error.
        within_s: time for all measurements.
    """

    def __init__(self, console: Console, within_s: float) -> None:
        self._console, self._within_s = console, within_s
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._line = ""

    def __enter__(self) -> GateDisplay:
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

    def tell_building(self, sentence: str) -> None:
        """Show what is built or tried."""
        self._show([sentence])

    def tell_look(self, verdicts: Sequence[BenchmarkVerdict], sweeps: int, elapsed_s: float) -> None:
        """Show what is known by now."""
        counts = Counter(_WORDS.get(verdict.pair.verdict, verdict.pair.verdict) for verdict in verdicts)
        left_s = max(0.0, self._within_s - elapsed_s)
        told = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        self._show([f"{sweeps} rounds, at most {format_duration(left_s)} to go: {told}"])

    def _show(self, lines: Sequence[str]) -> None:
        if self._console.is_terminal:
            text = Text("\n".join(lines), style="dim", overflow="ellipsis", no_wrap=True)
            self._live.update(text, refresh=True)
