"""The nested levels of repetition: builds, their executions, measurements in each (EPEW 2006 section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from datamill.design.design import DesignFactor, PlannedTrial
from datamill.design.seeds import derive_seed, rank_by_seed
from datamill.experiment.experiment import Experiment
from datamill.experiment.factors.catalogue import FACTORS

#: Executions of each package with one measurement, beside those of the question: what an execution costs
#: without its measurements is else not to be told from what they cost.
CALIBRATION_TRIALS = 2


def place_replicate(
    experiment: Experiment, factors: Sequence[DesignFactor], replicate: int
) -> tuple[int, int]:
    """Return which build a replicate of a design point measures, and which of its executions it is.

    Without `[replication]` a replicate has a build of its own, unless builds are shared and nothing about
    them is drawn: then all replicates are executions of one build.
    """
    if experiment.replication is not None:
        build, execution = divmod(replicate - 1, experiment.replication.executions)
        return build + 1, execution + 1
    if experiment.build == "fresh" or any(is_drawn_build(factor) for factor in factors):
        return replicate, 1
    return 1, replicate


def is_drawn_build(factor: DesignFactor) -> bool:
    """Tell whether chance takes part in the levels of a build factor."""
    if not factor.build or factor.name not in FACTORS:
        return False
    return bool(factor.drawn_from) or any(level in FACTORS[factor.name].drawn for level in factor.levels)


def derive_build_seed(
    experiment: Experiment,
    factors: Sequence[DesignFactor],
    package: str,
    levels: Mapping[str, str],
    build: int,
) -> int | None:
    """Return the seed of a numbered build, below 2^48; None without `[replication]`.

    Design points that agree on the package and on every crossed build factor have the same builds.
    """
    if experiment.replication is None:
        return None
    crossed = [factor.name for factor in factors if factor.build and factor.role == "factor"]
    chosen = (f"{name}={levels[name]}" for name in crossed if name != "package")
    return derive_seed(experiment.seed, "build", package, *chosen, str(build))


def count_calibration_trials(experiment: Experiment) -> int:
    """Return how many trials show what a measurement costs: some for each package that takes several."""
    nested = experiment.replication
    if nested is None or nested.measurements <= 1:
        return 0
    return CALIBRATION_TRIALS * len(experiment.packages)


def plan_calibration_trials(
    experiment: Experiment, trials: Sequence[PlannedTrial], *, prefix: str = ""
) -> list[PlannedTrial]:
    """Return executions with one measurement and no warm-up, at the first design point of each package.

    They have names (`c01`, ... behind `prefix`) and seeds of their own, so that the trials of the question
    are what they are without them. Each stands in for a replicate drawn at random when trials are ordered,
    and measures another build as far as there are several.
    """
    nested = experiment.replication
    if nested is None or not count_calibration_trials(experiment):
        return []
    planned: list[PlannedTrial] = []
    for package in dict.fromkeys(trial.package for trial in trials):
        point = next(trial.point for trial in trials if trial.package == package)
        builds = [trial for trial in trials if trial.point == point and trial.execution == 1]
        for number in range(CALIBRATION_TRIALS):
            trial_id = f"{prefix}c{len(planned) + 1:02d}"
            drawn = int.from_bytes(rank_by_seed(experiment.seed, "calibration", trial_id), "big")
            planned.append(
                replace(
                    builds[number % len(builds)],
                    trial_id=trial_id,
                    order=len(trials) + len(planned) + 1,
                    replicate=1 + drawn % experiment.replicates,
                    seed=derive_seed(experiment.seed, "trial", trial_id),
                    execution=nested.executions + 1 + number // len(builds),
                    measurements=1,
                    warmup=0,
                    purpose="calibration",
                )
            )
    return planned
