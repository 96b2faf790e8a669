"""What comes before the trials of a design: builds that several of them measure, and profiles of these.

Each trial needs one other at most: a trial its profile, a profile its build; a trial without a profile, its
build.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from datamill.design.design import PlannedTrial
from datamill.design.fleet.fleet_records import Candidate, FleetPlan
from datamill.design.machines import BUILD_FOR, MACHINE_FACTOR
from datamill.design.trials import name_build
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.numbers import format_count
from datamill.results.bundles.bundle_head import BundleHead
from datamill.service.coordinator.state.rows import select_rows

#: Builds, and profiles, of one experiment; each is known by its name while the trials are entered.
MOST_STAGED = 20_000
#: What tells a build, or a profile, from others; where it is made comes first.
StageName = tuple[str, ...]


class StageNames:
    """Tells builds and profiles of an experiment apart, and which trials have them."""

    def __init__(self, asked: Experiment, plan: FleetPlan, head: BundleHead) -> None:
        self._asked = asked
        self._only = plan.chosen[0].name
        self._arch = {candidate.name: candidate.hardware.get("arch", "") for candidate in plan.chosen}
        factors = tuple(item for item in plan.design.factors if item.name != MACHINE_FACTOR)
        self._design = replace(plan.design, trials=(), factors=factors)
        staged = asked.fleet.debug != "only"
        self._built = {item.name for item in head.packages if item.has_setup and staged}
        self._profiled = {
            item.name for item in head.packages if item.has_profile and staged and asked.fleet.profile
        }

    def name_build(self, trial: PlannedTrial) -> StageName | None:
        """Return the name of the build that is made before a trial; None where the trial makes its own.

        With `build_on` "strongest" or "cross" it begins with the architecture, else with the machine.
        """
        shipped = self._asked.fleet.build_on != "worker"
        if trial.package not in self._built or not (shipped or trial.package in self._profiled):
            return None
        machine = self._find_machine(trial)
        site = self._arch[machine] if shipped else machine
        # Each build that is asked for is one of its own.
        rest = (trial.trial_id,) if self._asked.build == "fresh" else name_build(self._design, trial)
        return (site, *rest)

    def name_profile(self, trial: PlannedTrial) -> StageName | None:
        """Return the name of the profile that is made before a trial, its machine first; None without one."""
        if trial.package not in self._profiled:
            return None
        return (self._find_machine(trial), *name_build(self._design, trial))

    def _find_machine(self, trial: PlannedTrial) -> str:
        return trial.levels.get(MACHINE_FACTOR, self._only)


@dataclass(frozen=True, slots=True)
class Stages:
    """Builds and profiles of an experiment: by name, a trial of the design that each is like.

    `build_rows` and `profile_rows` have the rows of those that are stored.
    """

    names: StageNames
    builds: dict[StageName, PlannedTrial] = field(default_factory=dict)
    profiles: dict[StageName, PlannedTrial] = field(default_factory=dict)
    build_rows: Mapping[StageName, int] = field(default_factory=dict)
    profile_rows: Mapping[StageName, int] = field(default_factory=dict)

    def find_build(self, trial: PlannedTrial) -> int | None:
        """Return the row of the build that a trial measures or profiles; None where it makes its own."""
        name = self.names.name_build(trial) if self.build_rows else None
        return None if name is None else self.build_rows[name]

    def find_need(self, trial: PlannedTrial) -> int | None:
        """Return the row of what a trial of the design needs, if anything: its profile, else its build."""
        name = self.names.name_profile(trial) if self.profile_rows else None
        return self.find_build(trial) if name is None else self.profile_rows[name]


def list_stages(
    asked: Experiment, plan: FleetPlan, head: BundleHead, planned: Collection[PlannedTrial]
) -> Stages:
    """Return what comes before the trials of a design, in the order in which these first need it.

    Raises:
        InputError: when there are too many.
    """
    stages = Stages(StageNames(asked, plan, head))
    if asked.fleet.build_on == "worker" and not asked.fleet.profile:
        return stages
    for trial in planned:
        for kind, found, name in (
            ("builds that workers share", stages.builds, stages.names.name_build(trial)),
            ("profiles", stages.profiles, stages.names.name_profile(trial)),
        ):
            if name is None:
                continue
            found.setdefault(name, trial)
            if len(found) > MOST_STAGED:
                raise InputError(
                    f"the experiment has more than {format_count(MOST_STAGED)} {kind}",
                    where=asked.name,
                    remedy='Lower the builds, or write build_on = "worker" and no profile under [fleet].',
                )
    return stages


def find_builders(asked: Experiment, plan: FleetPlan) -> dict[str, Candidate]:
    """Return who makes builds, by what their names begin with: an architecture, or a machine."""
    if asked.fleet.build_on == "worker":
        return find_machines(plan)
    strongest: dict[str, Candidate] = {}
    for candidate in sorted(
        plan.chosen, key=lambda item: (-item.cores, -item.memory_bytes, -item.clock_khz, item.name)
    ):
        strongest.setdefault(candidate.hardware.get("arch", ""), candidate)
    return strongest | dict(plan.builders)


def find_machines(plan: FleetPlan) -> dict[str, Candidate]:
    """Return the workers of a plan by their names."""
    return {candidate.name: candidate for candidate in plan.chosen}


def name_target(trial: PlannedTrial, site: str, builder: Candidate) -> PlannedTrial:
    """Return the trial of a build with the architecture that it is for, unless that is its builder's."""
    if site in (builder.name, builder.hardware.get("arch", "")):
        return trial
    return replace(trial, levels={**trial.levels, BUILD_FOR: site})


def number_stages(
    staged: Mapping[StageName, PlannedTrial], purpose: str
) -> list[tuple[PlannedTrial, StageName]]:
    """Return a trial for each build or profile, under an identity of its own."""
    return [
        (replace(trial, trial_id=f"{purpose}{number:05d}"), name)
        for number, (name, trial) in enumerate(staged.items(), start=1)
    ]


def read_stage_rows(
    experiment_id: int, numbered: list[tuple[PlannedTrial, StageName]], purpose: str
) -> dict[StageName, int]:
    """Return the rows under which builds or profiles were stored, by their names."""
    ids = dict(
        select_rows(
            "SELECT trial_id, id FROM datamill_trial WHERE experiment_id = %s AND purpose = %s",
            [experiment_id, purpose],
        )
    )
    return {name: ids[trial.trial_id] for trial, name in numbered}
