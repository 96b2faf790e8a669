"""A design over several machines: the same on each, in an order of its own."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.design.design import DesignFactor, PlannedTrial
from datamill.design.order import LOCAL_BLOCK
from datamill.experiment.experiment import Experiment

#: The factor whose levels are the names of machines.
MACHINE_FACTOR = "machine"
#: What a build that is made on a machine of another architecture is for, as the level of its trial.
BUILD_FOR = "build_for"


def add_machines(
    experiment: Experiment, factors: Sequence[DesignFactor], machines: Sequence[str]
) -> tuple[DesignFactor, ...]:
    """Return the factors of a design with the machines behind those that are crossed.

    One machine alone is a fixed circumstance. Builds are of a machine, and another level is another build,
    unless they are made elsewhere for several.
    """
    role = "factor" if len(machines) > 1 else "nuisance"
    build = experiment.fleet.build_on == "worker"
    machine = DesignFactor(MACHINE_FACTOR, tuple(machines), len(machines), build, role)  # type: ignore[arg-type]
    crossed = sum(factor.role == "factor" for factor in factors)
    return (*factors[:crossed], machine, *factors[crossed:])


def name_block(machine: str, part: str = "") -> str:
    """Return the name of a block: of a part of a machine's trials, or of all."""
    return "/".join(name for name in (machine, part) if name)


def rename_block(machine: str, block: str) -> str:
    """Return the name of a planned block on the machine that ran its trial, if another than planned."""
    return name_block(machine, block.rpartition("/")[2] if "/" in block else "") if machine else block


def merge_machines(
    experiment: Experiment, machines: Sequence[str], series: Sequence[Sequence[PlannedTrial]]
) -> tuple[PlannedTrial, ...]:
    """Return the trials of all machines, in turn since the machines work side by side, in their blocks.

    A block is a machine, or what divides its trials further: a round of `order = "interleaved"`, or the
    trials between two reboots with `[fleet] reboot = "block"`.

    Args:
        experiment: the question.
        machines: names of the machines.
        series: the trials of each machine in the order in which it runs them; equally many.
    """
    by_reboot = experiment.fleet.block_trials if experiment.fleet.reboot == "block" else 0
    points = max((trial.point for trial in series[0]), default=0)
    merged: list[PlannedTrial] = []
    for place, row in enumerate(zip(*series, strict=True)):
        for index, (machine, trial) in enumerate(zip(machines, row, strict=True)):
            block = machine
            if trial.block != LOCAL_BLOCK:
                block = name_block(machine, trial.block)
            elif by_reboot:
                block = name_block(machine, str(1 + place // by_reboot))
            point = trial.point + index * points if trial.point else 0
            merged.append(trial.put(len(merged) + 1, block, point))
    return tuple(merged)
