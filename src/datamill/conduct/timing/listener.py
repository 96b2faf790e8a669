"""What hears how timing goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from datamill.experiment.command_lines import CommandLine
from datamill.results.bundles.decisions import Decision

if TYPE_CHECKING:
    # Brings statistics along, which the first execution need not wait for.
    from datamill.analysis.sequential.pairs import Pair


@dataclass(frozen=True, slots=True)
class TimingProgress:
    """How far timing is: complete rounds, time since it began, and the time that one round takes."""

    rounds: int
    elapsed_s: float
    round_s: float
    longest_s: float


class TimingListener(Protocol):
    """Hears how timing goes on, such as a terminal; never while a command is measured."""

    def tell_waiting(self, sentence: str) -> None:
        """Something else is measured on this machine, and is waited for."""
        ...

    def warn(self, sentence: str) -> None:
        """Something limits what will be measured; it is known now."""
        ...

    def tell_building(self, sentence: str) -> None:
        """Something is built, which takes its time; nothing is measured meanwhile."""
        ...

    def begin_warm_up(self, command: CommandLine, number: int) -> None:
        """A command runs without being counted, for the first time or again."""
        ...

    def tell_look(self, decision: Decision, pairs: Sequence[Pair], progress: TimingProgress) -> None:
        """The data were looked at."""
        ...
