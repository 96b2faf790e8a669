"""What planning does in a process of its own: the plan comes back, its trials lie in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from datamill.design.fleet.fleet_records import Candidate, FleetPlan
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, Limits
from datamill.packing.packages import PackageFacts, inspect_package
from datamill.packing.user_factors import UserFactor, read_user_factor
from datamill.service.bounded_work.child import Budget
from datamill.service.submissions.stored_trials import write_trials

#: Of a plan that is only looked at, of one with its trials, and of a look into an archive.
_FEWER = "Name fewer factors, levels, points or replicates."
LOOK = Budget(memory_bytes=1 << 30, cpu_s=60, elapsed_s=180.0, file_bytes=64 << 20, remedy=_FEWER)
WHOLE = Budget(memory_bytes=3 << 30, cpu_s=300, elapsed_s=900.0, file_bytes=4 << 30, remedy=_FEWER)
INSPECTION = Budget(
    memory_bytes=512 << 20, cpu_s=120, elapsed_s=600.0, remedy="Pack fewer and smaller files."
)


def plan_apart(
    experiment: Experiment,
    candidates: Sequence[Candidate],
    trial_s: float | None,
    most_trials: int,
    trials_file: Path | None,
) -> FleetPlan:
    """Return the plan of an experiment without its trials; they are written to a file where one is named.

    Raises:
        InputError: as `plan_fleet` does.
    """
    # Here: the process that leases trials does not load what solves integer programs.
    from datamill.design.fleet.fleet_plan import plan_fleet

    plan = plan_fleet(
        experiment,
        candidates,
        trial_s=trial_s,
        most_trials=most_trials,
        with_trials=trials_file is not None,
    )
    if trials_file is None:
        return plan
    write_trials(trials_file, plan.design.trials)
    return replace(plan, design=replace(plan.design, trials=()), counted=plan.size)


def inspect_archive(name: str, path: Path, limits: Limits, kind: str) -> PackageFacts | UserFactor:
    """Return what an archive of a kind holds: a package, a load or a factor.

    Raises:
        InputError: when it is no archive of that kind.
    """
    if kind == "factor":
        return read_user_factor(path)
    return inspect_package(name, path, limits, kind=kind)


def inspect_unknown_archive(name: str, path: Path) -> PackageFacts | UserFactor:
    """Return what an archive holds, a factor or else a package.

    Raises:
        InputError: when it is neither, with what it lacks as a package.
    """
    try:
        return read_user_factor(path)
    except InputError:
        return inspect_package(name, path, Limits())
