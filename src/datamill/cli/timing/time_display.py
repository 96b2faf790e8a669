"""What the terminal shows while commands are timed: the interval that shrinks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from datamill.cli.timing.passing_lines import PassingLines
from datamill.conduct.timing.listener import TimingProgress
from datamill.experiment.command_lines import CommandLine
from datamill.experiment.messages.numbers import format_figures
from datamill.experiment.quantities import format_duration
from datamill.results.bundles.decisions import Decision, LookInterval

if TYPE_CHECKING:
    # Brings statistics along, which the first execution need not wait for.
    from datamill.analysis.sequential.pairs import Pair

#: Pairs that are shown at most.
_MOST_PAIRS = 8


class TimeDisplay(PassingLines):
    """A `TimingListener` that shows the interval shrinking, and warns at once."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        #: What people call each command, by its name.
        self._labels: dict[str, str] = {}
        self.warned: list[str] = []
        #: What the last look showed.
        self._lines: list[str] = []

    def warn(self, sentence: str) -> None:
        """Say at once what limits what will be measured."""
        if self._is_terminal:
            # What is not seen as it happens is told with the answer.
            self.warned.append(sentence)
            self._print_above(f"Warning: {sentence.rstrip('.')}.")

    def tell_building(self, sentence: str) -> None:
        """Show what is built."""
        self._show([*self._lines, sentence])

    def begin_warm_up(self, command: CommandLine, number: int) -> None:
        """Show that a command warms up."""
        self._labels[command.name] = command.label
        again = f" ({number})" if number > 1 else ""
        self._show_plain(f"warming up{again}: {command.label}")

    def tell_look(self, decision: Decision, pairs: Sequence[Pair], progress: TimingProgress) -> None:
        """Show how wide the intervals are by now."""
        left_s = max(0.0, progress.longest_s - progress.elapsed_s)
        lines = [f"{progress.rounds} executions each, at most {format_duration(left_s)} to go"]
        if pairs:
            lines += [
                f"  {self._labels[pair.other]} against {self._labels[pair.baseline]}: {_spell(pair.interval)}"
                for pair in pairs[:_MOST_PAIRS]
            ]
        else:
            lines += [f"  {self._labels[mean.name]}: {_spell_width(mean)}" for mean in decision.means]
        self._lines = lines
        self._show(lines)


def _spell(interval: LookInterval) -> str:
    if interval.estimate is None:
        return "nothing is known yet"
    value = format_figures(100 * interval.estimate, signed=True)
    if interval.low is None or interval.high is None:
        return f"{value}%, not bounded yet"
    low, high = (format_figures(100 * bound, signed=True) for bound in (interval.low, interval.high))
    return f"{value}% ({low} to {high}%)"


def _spell_width(mean: LookInterval) -> str:
    width = mean.half_width
    return "nothing is known yet" if width is None else f"±{format_figures(100 * width, 2)}%"
