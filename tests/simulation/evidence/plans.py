"""What an experiment's plan says of each of its trials, worked out anew: the measure of every lease."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from simulation.users.experiments import BACKGROUND_LOAD, NO_LOAD, Submitted

from datamill.design.design import PlannedTrial
from datamill.design.fleet.fleet_records import Candidate

Group = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class ExpectedTrial:
    """A trial as the plan has it.

    `rank` is its place on its worker: builds, profiles, trials for debugging, the design; `group` says which
    trials share its build; `build` names the trial that makes that, empty where it builds itself; `needs`
    the one that must be done before, its profile or else its build.
    """

    trial: PlannedTrial
    purpose: str
    worker_id: str
    rank: int
    reboot: bool
    group: Group
    needs: str
    build: str


class Plan:
    """The trials of a submitted experiment, by their names."""

    def __init__(self, submitted: Submitted) -> None:
        self.submitted = submitted
        self.experiment = submitted.experiment
        self.trials: dict[str, ExpectedTrial] = {}
        self._chosen = {candidate.name: candidate for candidate in submitted.plan.chosen}
        fleet = self.experiment.fleet
        self._profiled = {item.name for item in submitted.head.packages if item.has_profile and fleet.profile}
        staged = fleet.debug != "only"
        self.builds = self._list_builds() if staged else {}
        self.profiles = self._list_profiles() if staged else {}
        debug = self._list_debug() if fleet.debug != "never" else []
        number = len(self.builds) + len(self.profiles) + len(debug)
        for (group, trial), name in self.builds.values():
            self._add(trial, name, "build", self._find_builder(group[0]), -number, group)
            number -= 1
        for (machine, *_), (trial, name) in self.profiles.items():
            group = self._group(trial)
            build = self.builds[group][1] if group in self.builds else ""
            self._add(trial, name, "profile", self._chosen[machine], -number, group, build)
            number -= 1
        for trial in debug:
            place = self._chosen[trial.levels["machine"]]
            self._add(trial, trial.trial_id, "debug", place, -number, self._group(trial))
            number -= 1
        if fleet.debug != "only":
            self._add_design()

    @property
    def has_stages(self) -> bool:
        """Whether trials need others."""
        return bool(self.builds or self.profiles)

    @property
    def spares(self) -> set[str]:
        """The workers that stand by."""
        return {candidate.worker_id for candidate in self.submitted.plan.spares}

    def list_files(self, trial_id: str) -> dict[str, int]:
        """Return size by SHA-256 of the files that a trial needs, but a build."""
        head, trial = self.submitted.head, self.trials[trial_id].trial
        wanted = trial.levels.get(BACKGROUND_LOAD, NO_LOAD)
        files = {item.sha256: item.bytes for item in head.packages if item.name == trial.package}
        files |= {item.sha256: item.bytes for item in head.loads if item.name == wanted}
        return files | {item.sha256: item.bytes for item in head.factors}

    def _add(
        self,
        trial: PlannedTrial,
        name: str,
        purpose: str,
        place: Candidate,
        rank: int,
        group: Group,
        build: str = "",
    ) -> None:
        self.trials[name] = ExpectedTrial(
            replace(trial, trial_id=name), purpose, place.worker_id, rank, False, group, build, build
        )

    def _add_design(self) -> None:
        fleet = self.experiment.fleet
        done: Counter[str] = Counter()
        for trial in self.submitted.plan.design.trials:
            machine, group = trial.levels["machine"], self._group(trial)
            build = self.builds[group][1] if group in self.builds else ""
            profile = self.profiles.get((machine, *group[1:]))
            is_first = done[machine] % fleet.block_trials == 0
            done[machine] += 1
            self.trials[trial.trial_id] = ExpectedTrial(
                trial,
                "design",
                self._chosen[machine].worker_id,
                trial.order,
                fleet.reboot == "trial" or (fleet.reboot == "block" and is_first),
                group,
                profile[1] if profile else build,
                build,
            )

    def _group(self, trial: PlannedTrial) -> Group:
        machine = trial.levels["machine"]
        shipped = self.experiment.fleet.build_on == "strongest"
        site = self._chosen[machine].hardware["arch"] if shipped else machine
        return site, trial.package, trial.levels["optimization"]

    def _list_builds(self) -> dict[Group, tuple[tuple[Group, PlannedTrial], str]]:
        """The first trial of each group whose package builds something, with the name of its build."""
        shipped = self.experiment.fleet.build_on == "strongest"
        building = {
            item.name
            for item in self.submitted.head.packages
            if item.has_setup and (shipped or item.name in self._profiled)
        }
        first: dict[Group, PlannedTrial] = {}
        for trial in self.submitted.plan.design.trials:
            if trial.package in building:
                first.setdefault(self._group(trial), trial)
        return {
            group: ((group, trial), f"build{number:05d}")
            for number, (group, trial) in enumerate(first.items(), start=1)
        }

    def _list_profiles(self) -> dict[Group, tuple[PlannedTrial, str]]:
        """The first trial of each build on each machine whose package is profiled, and the profile's name."""
        first: dict[Group, PlannedTrial] = {}
        for trial in self.submitted.plan.design.trials:
            if trial.package in self._profiled:
                levels = trial.levels
                first.setdefault((levels["machine"], trial.package, levels["optimization"]), trial)
        return {
            group: (trial, f"profile{number:05d}") for number, (group, trial) in enumerate(first.items(), 1)
        }

    def _find_builder(self, site: str) -> Candidate:
        return self._chosen[site] if site in self._chosen else self._find_strongest(site)

    def _find_strongest(self, arch: str) -> Candidate:
        able = [item for item in self._chosen.values() if item.hardware["arch"] == arch]
        return min(able, key=lambda item: (-item.cores, -item.memory_bytes, -item.clock_khz, item.name))

    def _list_debug(self) -> list[PlannedTrial]:
        """One trial of each package on the first machine of each architecture, by its name."""
        first: dict[str, str] = {}
        for candidate in sorted(self._chosen.values(), key=lambda item: (item.free_s, item.name)):
            first.setdefault(candidate.hardware["arch"], candidate.name)
        found = []
        for machine in first.values():
            for package in self.experiment.packages:
                of_both = [
                    trial
                    for trial in self.submitted.plan.design.trials
                    if trial.levels["machine"] == machine and trial.package == package.name
                ]
                found.append(replace(of_both[0], trial_id=f"debug{len(found) + 1:02d}"))
        return found
