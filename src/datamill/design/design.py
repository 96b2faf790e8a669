"""The plan, as frozen records: which trials, in which order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

#: Whether a factor belongs to the question, and so to every model, or is only held or drawn.
Role = Literal["factor", "nuisance"]
#: What a trial is for: the question; the drift of the machine, by a package that is measured again and again;
#: or what a measurement costs, by an execution with as few of them as there can be.
Purpose = Literal["question", "reference", "calibration"]


@dataclass(frozen=True, slots=True)
class DesignFactor:
    """A factor with the levels that the design contains.

    `available` counts all levels that the factor has here; `build` says that a change of
    level needs another build. One of role "nuisance" is held at its only level, or drawn for each trial
    from what `drawn_from` says: its levels, or a range such as `0..4096`, which `levels` then leaves empty.
    """

    name: str
    levels: tuple[str, ...]
    available: int
    build: bool
    role: Role = "factor"
    drawn_from: str = ""


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One planned execution of a package at a design point.

    `trial_id` follows the systematic order and `order` (from 1) the randomised one; `levels`
    holds every factor, the package and those of role "nuisance" among them; `block` names the nuisance
    condition shared with other trials. `build` and `execution` (from 1) are its place in the nested
    replication: trials with the same package, build factors and `build` measure the same binaries, whose
    random levels are drawn from `build_seed` (None: from the trial's own). `measurements` are asked of
    the package in each execution, after `warmup` ones; 0 leaves their number to the package.
    """

    trial_id: str
    order: int
    point: int
    replicate: int
    package: str
    levels: Mapping[str, str]
    block: str
    seed: int
    build: int = 1
    execution: int = 1
    build_seed: int | None = None
    measurements: int = 0
    warmup: int = 0
    purpose: Purpose = "question"

    def put(self, order: int, block: str, point: int | None = None) -> PlannedTrial:
        """Return the trial at its place in the order; `point` renumbers its design point."""
        # Written out: a design may have a million trials, and `dataclasses.replace` takes four times as long.
        return PlannedTrial(
            self.trial_id,
            order,
            self.point if point is None else point,
            self.replicate,
            self.package,
            self.levels,
            block,
            self.seed,
            self.build,
            self.execution,
            self.build_seed,
            self.measurements,
            self.warmup,
            self.purpose,
        )


@dataclass(frozen=True, slots=True)
class Design:
    """All planned trials of an experiment, in the order in which they run.

    Where not every combination of levels is a design point, `construction` says how the points were chosen,
    `resolution` is that of a two-level design (0: none is given), `generators` define a regular fraction,
    `aliases` say in sentences what cannot be told apart, and `efficiency` is the D-efficiency, from 0 to 1.
    """

    kind: str
    seed: int
    replicates: int
    factors: tuple[DesignFactor, ...]
    trials: tuple[PlannedTrial, ...]
    construction: str = ""
    resolution: int = 0
    generators: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    efficiency: float | None = None

    @property
    def crossed(self) -> tuple[DesignFactor, ...]:
        """The factors whose combinations of levels are the design points: those that models are about."""
        return tuple(factor for factor in self.factors if factor.role == "factor")

    @property
    def nested(self) -> bool:
        """Whether trials are executions of repeated builds, each with a seed of its own."""
        return any(trial.build_seed is not None and trial.purpose == "question" for trial in self.trials)

    @property
    def points(self) -> int:
        """Number of design points."""
        if self.construction:
            return len({trial.point for trial in self.trials if trial.purpose == "question"})
        return self.combinations

    @property
    def combinations(self) -> int:
        """Number of combinations of levels, design points or not."""
        return math.prod(len(factor.levels) for factor in self.crossed)


@dataclass(frozen=True, slots=True)
class DesignSize:
    """How large a design over all machines is: points, replicates of each, and trials in all."""

    points: int
    replicates: int
    trials: int
