"""What collecting on a fleet asks of a coordinator: the command line brings it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from datamill.conduct.fleet.take_home import TakenHome
from datamill.conduct.question.read_files import FoundExperiment


class FleetExperiments(Protocol):
    """Runs experiments on a fleet, as `datamill submit`, `watch` and `fetch` do."""

    @property
    def url(self) -> str:
        """The coordinator's address."""
        ...

    def choose_machine(self, found: FoundExperiment) -> str:
        """Return the machine that the coordinator would give an experiment."""
        ...

    def submit(self, found: FoundExperiment) -> int:
        """Submit an experiment, and return its number."""
        ...

    def find(self, name: str) -> int | None:
        """Return the number of the user's experiment of that name, or None."""
        ...

    def follow(self, number: int) -> None:
        """Show an experiment until it has ended."""
        ...

    def take(self, number: int, folder: Path) -> TakenHome:
        """Bring an experiment home as a bundle in a new folder."""
        ...
