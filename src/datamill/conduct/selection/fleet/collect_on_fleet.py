"""A project's history collected by a machine of a fleet: experiments submitted, taken home and kept."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from datamill.conduct.selection.collecting.build_version import (
    NO_BUILD,
    BuiltVersion,
    choose_build,
    describe_refusal,
    spell_builds,
)
from datamill.conduct.selection.collecting.collect import CollectionQuestion
from datamill.conduct.selection.collecting.collected_versions import (
    count_untried,
    keep_builds,
    link_versions,
    list_left,
    list_unprofiled,
    sum_up,
)
from datamill.conduct.selection.collecting.measure_programs import plan_session
from datamill.conduct.selection.collecting.profile_program import SLOWER
from datamill.conduct.selection.collecting.settings_file import Project
from datamill.conduct.selection.collecting.walked_history import GitHistory, WalkedCommit
from datamill.conduct.selection.fleet.experiments import Experiments
from datamill.conduct.selection.fleet.fleet_experiments import FleetExperiments
from datamill.conduct.selection.fleet.submitted.program_packages import (
    check_inputs_named,
    write_program_package,
)
from datamill.conduct.selection.fleet.submitted.version_packages import write_version_package
from datamill.conduct.selection.fleet.submitted.written_experiment import PACKAGES
from datamill.conduct.selection.store.fleet_origin import (
    Purpose,
    check_collected_on_fleet,
)
from datamill.conduct.selection.store.kept_commands import (
    check_builds,
    keep_commands,
    warn_of_other_builds,
    warn_of_untried,
)
from datamill.conduct.selection.store.kept_forms import check_form
from datamill.experiment.errors import InputError
from datamill.selection.history.collection_outcome import CollectionOutcome
from datamill.selection.history.records import Version

#: Most packages of one experiment: a coordinator takes a thousand files.
_MOST_PACKAGES = 400
_ARCHIVE = "2 GiB"


def collect_on_fleet(
    question: CollectionQuestion,
    project: Project,
    history: GitHistory,
    fleet: FleetExperiments,
    machine: str | None,
) -> CollectionOutcome:
    """Have a machine of a fleet build, profile and measure the versions that are asked for.

    Versions are built in one experiment, and the binaries come home. Programs that differ, and are not in the
    store yet, are profiled and measured in another one, with those that they descend from, in one random
    order. An experiment that was under way when the command ended is taken home first.

    Args:
        question: which commits; what is done with them.
        project: its settings and its store.
        history: its repository.
        fleet: the coordinator.
        machine: the one that makes all; None leaves it to the coordinator, until the first experiment.

    Raises:
        InputError: the range or the settings cannot be used, the store was collected here or on another
        machine or its tables are of another version of the digests, or the coordinator refuses.
    """
    if question.profile or question.measure:
        check_inputs_named(project.settings, str(project.settings_file))
    check_collected_on_fleet(project.store, machine)
    walked = history.walk(
        question.range,
        first_parent=question.first_parent,
        stride=question.stride,
        touching=question.touching,
    )
    check_builds(project.settings, history)
    builds = spell_builds(project.settings, history, [item.commit for item in walked])
    with project.store.locked():
        check_form(project.store)
        experiments = Experiments(project, history, fleet, machine)
        experiments.take_left()
        # What came home is of the commands with which it was submitted.
        assumed = keep_commands(project.settings, project.store)
        collector = _Collector(question, project, history, experiments, builds)
        untried = collector.count_untried(walked)
        fresh = collector.build(walked)
        collector.measure()
        finished = collector.is_finished(walked)
    outcome = sum_up(len(walked), fresh, history, project.settings, project.store, finished)
    told = [assumed, warn_of_other_builds({item.commit: item for item in project.store.versions}, builds)]
    told += [warn_of_untried(untried), *experiments.list_warnings()]
    return replace(outcome, warnings=(*outcome.warnings, *filter(None, told)))


@dataclass(frozen=True, slots=True)
class _Collector:
    """What one call of the command has left to do, and has done by experiments."""

    question: CollectionQuestion
    project: Project
    history: GitHistory
    experiments: Experiments
    builds: Mapping[str, str]

    def count_untried(self, walked: Sequence[WalkedCommit]) -> int:
        """Return how many versions failed before and are not built again."""
        return count_untried(walked, self._versions, self._list_left(walked))

    def build(self, walked: Sequence[WalkedCommit]) -> int:
        """Have the versions built that are not collected; return how many were tried."""
        tried: set[str] = set()
        while True:
            left = [item for item in self._list_left(walked) if item.commit not in tried][:_MOST_PACKAGES]
            if not left:
                break
            tried |= {item.commit for item in left}
            self._build_some(left)
        store = self.project.store
        if not store.is_empty:
            # Each time: versions that were asked for before may have got one between them.
            store.write_versions(
                link_versions(self.history, {item.commit: item for item in store.versions}),
                store.programs.values(),
            )
        return self.experiments.built

    def measure(self) -> None:
        """Have programs measured that are not, each profiled before; then the others profiled."""
        settings, store = self.project.settings, self.project.store
        if not settings.benchmark or store.is_empty:
            return
        unprofiled = self._list_unprofiled()
        wanted = self._list_unmeasured()[:_MOST_PACKAGES]
        if wanted:
            self._run_programs("measure", wanted, unprofiled)
        rest = [name for name in unprofiled if name not in wanted][:_MOST_PACKAGES]
        if rest:
            self._run_programs("profile", rest, unprofiled)

    def is_finished(self, walked: Sequence[WalkedCommit]) -> bool:
        """Tell whether nothing is left to do of what was asked for."""
        return (
            not list_left(walked, self._versions, self.builds, retry_failed=False)
            and not self._list_unprofiled()
            and not self._list_unmeasured()
        )

    def _list_left(self, walked: Sequence[WalkedCommit]) -> list[WalkedCommit]:
        return list_left(walked, self._versions, self.builds, retry_failed=self.question.retry_failed)

    @property
    def _versions(self) -> dict[str, Version]:
        store = self.project.store
        return {} if store.is_empty else {item.commit: item for item in store.versions}

    def _list_unprofiled(self) -> dict[str, list[str]]:
        """Programs that are to be profiled, each with its benchmarks that were not counted.

        Those of versions alone, since others were built elsewhere.
        """
        settings, store = self.project.settings, self.project.store
        if not self.question.profile or store.is_empty:
            return {}
        built = {item.program for item in store.versions}
        lacking = list_unprofiled(settings, store)
        return {name: benchmarks for name, benchmarks in lacking.items() if name in built}

    def _list_unmeasured(self) -> list[str]:
        """Programs that lack executions, each with the one that it descends from."""
        settings, store = self.project.settings, self.project.store
        if not self.question.measure or not settings.benchmark or store.is_empty:
            return []
        session = plan_session(store.versions, settings, store, store.read_observations(), 0)
        wanted = {item.program for item in session.executions} if session is not None else set()
        return list(dict.fromkeys(item.program for item in store.versions if item.program in wanted))

    def _build_some(self, left: Sequence[WalkedCommit]) -> None:
        settings, history = self.project.settings, self.history
        folder = self.experiments.begin_folder()
        made: dict[str, BuiltVersion] = {}
        names: list[str] = []
        for item in left:
            build = choose_build(settings, history, item.commit)
            if build is None and settings.build:
                made[item.commit] = BuiltVersion("failed", reason=NO_BUILD)
                continue
            package = folder / PACKAGES / item.commit
            try:
                write_version_package(
                    package, history, item.commit, build, settings, folder / "git", self.project.here
                )
            except InputError as error:
                shutil.rmtree(package, ignore_errors=True)
                made[item.commit] = BuiltVersion("failed", reason=describe_refusal(error))
                continue
            names.append(item.commit)
        keep_builds(made, self.builds, self.history, self.project.store)
        self.experiments.built += len(made)
        if names:
            limits = {"setup_timeout": settings.build_timeout, "archive": _ARCHIVE}
            builds = {name: self.builds[name] for name in names}
            self.experiments.run("build", folder, names, {"debug": "only"}, limits, builds)

    def _run_programs(
        self, purpose: Purpose, names: Sequence[str], unprofiled: Mapping[str, Sequence[str]]
    ) -> None:
        settings, store = self.project.settings, self.project.store
        folder = self.experiments.begin_folder()
        for name in names:
            write_program_package(
                folder / PACKAGES / name,
                store.programs[name],
                settings,
                store,
                self.project.here,
                counted=unprofiled.get(name, ()),
                measure=purpose == "measure",
            )
        counting_s = len(settings.benchmark) * (settings.timeout_s * SLOWER + 60.0)
        limits: dict[str, object] = {"setup_timeout": settings.build_timeout, "archive": _ARCHIVE}
        if purpose == "profile":
            self.experiments.run(
                purpose, folder, names, {"debug": "only"}, {**limits, "run_timeout": counting_s}
            )
            return
        fleet: dict[str, object] = {"debug": "never"}
        if any(name in unprofiled for name in names):
            fleet["profile"] = True
            limits["profile_timeout"] = counting_s
        limits["run_timeout"] = settings.timeout
        self.experiments.run(purpose, folder, names, fleet, limits)
