"""The plan, as frozen records: which trials, in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DesignFactor:
    """A factor with the levels that the design contains.

    `available` counts all levels that the factor has here; `build` says that a change of
    level needs another build.
    """

    name: str
    levels: tuple[str, ...]
    available: int
    build: bool


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One planned execution of a package at a design point.

    `trial_id` follows the systematic order and `order` (from 1) the randomised one; `levels`
    holds every factor, the package among them; `block` names the nuisance condition shared
    with other trials.
    """

    trial_id: str
    order: int
    point: int
    replicate: int
    package: str
    levels: Mapping[str, str]
    block: str
    seed: int


@dataclass(frozen=True, slots=True)
class Design:
    """All planned trials of an experiment, in the order in which they run."""

    kind: str
    seed: int
    replicates: int
    factors: tuple[DesignFactor, ...]
    trials: tuple[PlannedTrial, ...]

    @property
    def points(self) -> int:
        """Number of design points."""
        count = 1
        for factor in self.factors:
            count *= len(factor.levels)
        return count
