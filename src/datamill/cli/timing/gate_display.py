"""What the terminal shows while a gate runs: how many benchmarks are still in doubt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from datamill.cli.timing.passing_lines import PassingLines
from datamill.experiment.quantities import format_duration

if TYPE_CHECKING:
    from datamill.analysis.gate.judge_benchmarks import BenchmarkVerdict

_WORDS = {"more": "slower", "less": "faster"}


class GateDisplay(PassingLines):
    """A `GateListener` that shows how many benchmarks are still in doubt.

    Args:
        within_s: time for all measurements.
    """

    def __init__(self, within_s: float) -> None:
        super().__init__()
        self._within_s = within_s

    def tell_building(self, sentence: str) -> None:
        """Show what is built or tried."""
        self._show([sentence])

    def tell_look(self, verdicts: Sequence[BenchmarkVerdict], sweeps: int, elapsed_s: float) -> None:
        """Show what is known by now."""
        counts = Counter(_WORDS.get(verdict.pair.verdict, verdict.pair.verdict) for verdict in verdicts)
        left_s = max(0.0, self._within_s - elapsed_s)
        told = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        self._show([f"{sweeps} rounds, at most {format_duration(left_s)} to go: {told}"])
