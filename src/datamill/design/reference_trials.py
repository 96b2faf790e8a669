"""Trials of one package under one condition, again and again, so that drift of the machine shows."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.design.design import DesignFactor, PlannedTrial
from datamill.design.machines import MACHINE_FACTOR
from datamill.design.nesting import derive_build_seed
from datamill.design.seeds import derive_seed
from datamill.experiment.experiment import Experiment, Replication
from datamill.experiment.factors.catalogue import FACTORS


def count_reference_trials(experiment: Experiment, trials: int) -> int:
    """Return how many reference trials go with so many trials of the question."""
    if experiment.reference is None or trials == 0:
        return 0
    return 2 + (trials - 1) // experiment.reference.every


def count_among(experiment: Experiment, trials: int) -> int:
    """Return how many of all planned trials are reference trials; see `count_reference_trials`."""
    if experiment.reference is None:
        return 0
    every = experiment.reference.every
    # Of `every` + 1 trials one is a reference trial, and one more at either end.
    others = trials - 2
    return 2 + (others - 1) // (every + 1) if others > 0 else 0


def insert_reference_trials(
    experiment: Experiment,
    factors: Sequence[DesignFactor],
    trials: Sequence[PlannedTrial],
    *,
    machine: str = "",
    prefix: str = "",
) -> tuple[PlannedTrial, ...]:
    """Return ordered trials with reference trials at the beginning, after every N of them, and at the end.

    All reference trials are alike: one package, every factor at its ordinary level if the experiment has
    that, else at its first, and the first build where builds are shared; all on `machine`, where there are
    several. They have names (`r01`, ... behind `prefix`) and seeds of their own, so that the other trials
    are what they are without them; only `order` counts all.
    """
    reference = experiment.reference
    if reference is None or not trials:
        return tuple(trials)
    levels = {factor.name: _choose_level(factor) for factor in factors}
    if "package" in levels:
        levels["package"] = reference.package
    if machine:
        levels[MACHINE_FACTOR] = machine
    count = count_reference_trials(experiment, len(trials))
    build_seed = derive_build_seed(experiment, factors, reference.package, levels, 1)
    nested = experiment.replication or Replication()

    def plan_reference(number: int, block: str) -> PlannedTrial:
        trial_id = f"{prefix}r{number:0{max(2, len(str(count)))}d}"
        return PlannedTrial(
            trial_id=trial_id,
            order=0,
            point=0,
            replicate=number,
            package=reference.package,
            levels=levels,
            block=block,
            seed=derive_seed(experiment.seed, "trial", trial_id),
            execution=number,
            build_seed=build_seed,
            measurements=nested.measurements,
            warmup=nested.warmup,
            purpose="reference",
        )

    planned = [plan_reference(1, trials[0].block)]
    for number, trial in enumerate(trials, start=1):
        planned.append(trial)
        if number % reference.every == 0 or number == len(trials):
            planned.append(plan_reference(1 + len(planned) - number, trial.block))
    return tuple(trial.put(order, trial.block) for order, trial in enumerate(planned, start=1))


def _choose_level(factor: DesignFactor) -> str:
    # A range such as 0..4096 has no list of levels.
    first = factor.levels[0] if factor.levels else factor.drawn_from.split("..")[0]
    known = FACTORS.get(factor.name)
    # Chance has no part in what is to be the same each time.
    if known is not None and (known.default in factor.levels or first in known.drawn):
        return known.default or first
    return first
