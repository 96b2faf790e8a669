"""What is chosen for an experiment on a fleet: which workers, and the design over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from datamill.design.design import Design, DesignSize
from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.factors.offers import Offers


@dataclass(frozen=True, slots=True)
class Candidate:
    """A worker that might take part.

    `hardware` has its level in each hardware dimension; `offers` what it has of each factor, less what its
    owner forbids; `free_s` is the time from now until its trials of other experiments are done.
    `boot_parameters` are names of parameters of the kernel that its owner lets experiments add, `kernels`
    says whether they may choose the kernel. `cross` are architectures that it can build for, each with its
    compiler, such as `gcc-12`. `memory_bytes`, `clock_khz` (0: unknown) and `cores` are exact, for
    constraints.
    """

    worker_id: str
    name: str
    hardware: Mapping[str, str]
    offers: Offers
    memory_bytes: int
    cores: int
    clock_khz: int = 0
    counters: bool = False
    reboot: bool = False
    boot_parameters: tuple[str, ...] = ()
    kernels: bool = False
    cross: Mapping[str, str] = field(default_factory=dict)
    free_s: float = 0.0


def find_level(dimension: str, worker: Candidate) -> str | None:
    """Return a worker's level in a hardware dimension, None when it has none; a machine is its own level."""
    if dimension == MACHINE_FACTOR:
        return worker.name
    return worker.hardware.get(dimension)


@dataclass(frozen=True, slots=True)
class Ineligible:
    """A worker that cannot take part, and why: one sentence.

    `way` is another one, of what its owner or the submitter would have to change; empty where that is not it.
    """

    name: str
    reason: str
    way: str = ""


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """Workers and trials of an experiment.

    `design` has the factor `machine` (levels: names of `chosen`), of role "factor" where there are several.
    `spares` stand by. `coverage` says for each covered dimension which levels are chosen out of which.
    `finish_s` is the estimated time from now until the last trial ends, None when a trial was never timed.
    With `build_on` "cross", `builders` has for each architecture of `chosen` the worker that builds for it.
    A plan that is only looked at has a design without its trials; `counted` then says how large it is.
    """

    design: Design
    chosen: tuple[Candidate, ...]
    spares: tuple[Candidate, ...]
    ineligible: tuple[Ineligible, ...]
    coverage: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
    finish_s: float | None = None
    warnings: tuple[str, ...] = ()
    counted: DesignSize | None = None
    builders: Mapping[str, Candidate] = field(default_factory=dict)

    @property
    def size(self) -> DesignSize:
        """How large the design is."""
        design = self.design
        return self.counted or DesignSize(design.points, design.replicates, len(design.trials))
