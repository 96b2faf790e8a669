"""A design as the evidence has it: each trial on the machine that made it. The plan itself stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from datamill.design.design import Design, DesignFactor, PlannedTrial
from datamill.design.machines import MACHINE_FACTOR, name_block


def place_trials(design: Design, made_on: Mapping[str, str]) -> Design:
    """Return the design with each trial on the machine that made it.

    A trial that another machine made than was planned has the level and the block of what happened. Its
    design point is a new one, so that its build is not taken for one of the other machine's own.

    Args:
        design: the plan.
        made_on: machines by the trials that they made; others are where they were planned.
    """
    if all(factor.name != MACHINE_FACTOR for factor in design.factors) or not design.trials:
        return design
    # There are fewer points than trials, so that numbers beyond these are free.
    new_points: dict[tuple[int, str], int] = {}
    used: dict[str, None] = {}
    trials = []
    for trial in design.trials:
        planned = trial.levels.get(MACHINE_FACTOR, "")
        machine = made_on.get(trial.trial_id, planned)
        used[machine] = None
        if machine != planned:
            point = trial.point
            if point:
                free = len(design.trials) + len(new_points) + 1
                point = new_points.setdefault((point, machine), free)
            trial = _move_trial(trial, machine, point)
        trials.append(trial)
    factors = tuple(
        _list_levels(item, used) if item.name == MACHINE_FACTOR else item for item in design.factors
    )
    return replace(design, trials=tuple(trials), factors=factors)


def _move_trial(trial: PlannedTrial, machine: str, point: int) -> PlannedTrial:
    planned = trial.levels.get(MACHINE_FACTOR, "")
    # A part of a machine, such as a round or a boot, that others' trials must not be mixed with.
    block = machine if trial.block in (planned, machine) else name_block(machine, trial.block)
    levels = {**trial.levels, MACHINE_FACTOR: machine}
    return replace(trial, levels=levels, block=block, point=point)


def _list_levels(factor: DesignFactor, used: Mapping[str, None]) -> DesignFactor:
    """Return the factor `machine` with the levels that occur: those that were planned first."""
    levels = tuple(level for level in factor.levels if level in used)
    levels += tuple(sorted(level for level in used if level not in factor.levels))
    return DesignFactor(
        factor.name,
        levels,
        max(factor.available, len(levels)),
        factor.build,
        # What only one level is left of cannot be a term of a model; machines that share a design that was
        # planned for one of them must be one.
        "factor" if len(levels) > 1 else "nuisance",
    )
