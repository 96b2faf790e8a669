"""Builds that timed commands execute: how many executions each has, and what puts them in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from datamill.design.design import PlannedTrial
from datamill.protocol.trial import BuildFacts, FactorFacts


@dataclass(frozen=True, slots=True)
class Built:
    """One build of a revision: what it did, how its factors were read back, and the time that it took.

    `digest` is that of all that it made which is executed or loaded.
    """

    facts: BuildFacts
    factors: tuple[FactorFacts, ...]
    digest: str
    time_s: float


class Builds(Protocol):
    """Makes the builds that planned trials execute."""

    def make(self, trials: tuple[PlannedTrial, ...]) -> None:
        """Make those of a batch; nothing is measured meanwhile."""
        ...

    def put(self, trial: PlannedTrial) -> Built:
        """Put the one that a trial executes in its place."""
        ...


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """How often each revision is built and each build executed.

    `has_order` says that the order of links was seen to be drawn for each build: then it is a factor.
    """

    executions: int
    has_order: bool
