"""An experiment of the fleet that came home: its facts, put into the store."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from datamill.conduct.fleet.coordinator_records import read_record
from datamill.conduct.fleet.take_home import TakenHome
from datamill.conduct.selection.collecting.collected_versions import keep_builds
from datamill.conduct.selection.collecting.settings_file import Project
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.conduct.selection.fleet.fetched.fetched_archives import (
    FetchedTrial,
    find_in_bundle,
    read_debug_trials,
)
from datamill.conduct.selection.fleet.fetched.fetched_builds import read_builds
from datamill.conduct.selection.fleet.fetched.fetched_counts import keep_counts
from datamill.conduct.selection.fleet.fetched.fetched_times import read_times
from datamill.conduct.selection.store.fleet_origin import (
    ORIGIN_FILE,
    FleetOrigin,
    PendingSubmission,
    read_origin,
)
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.protocol.api.bundles import BundleProfile, FleetSummary

#: What a machine may not change between versions that are compared, in the words of its inventory.
_MATTERS = ("arch", "cpu_model", "memory", "kernel", "distribution", "compiler")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class KeptExperiment:
    """What an experiment gave: how many versions were built or failed to, and what is left out and why."""

    builds: int = 0
    notes: Counter[str] = field(default_factory=Counter)


def keep_experiment(
    taken: TakenHome, submission: PendingSubmission, project: Project, history: GitHistory
) -> KeptExperiment:
    """Put what an experiment found into the store; the same experiment again changes nothing.

    What another machine made than the store's own is left out: the coordinator gives its tasks to no other.

    Raises:
        InputError: the machine is another one under the same name, or what came home is damaged.
    """
    folder = taken.bundle.folder
    kept = KeptExperiment()
    summary = _read(folder / "fleet.json", FleetSummary)
    origin = _recognise(summary, project, kept)
    if submission.purpose == "measure":
        _keep_profiles(folder, project, origin, kept)
        failed = {
            (item.program, item.benchmark)
            for item in project.store.read_observations()
            if item.failure and item.session != submission.name
        }
        times, left_out = read_times(taken, submission.name, origin.machine, summary.stopped, failed)
        kept.notes.update(left_out)
        project.store.put_session(submission.name, times)
        missing = summary.planned - summary.counted
    else:
        trials = read_debug_trials(folder)
        missing = summary.debug_planned - len(trials)
        own = [trial for trial in trials if trial.machine == origin.machine]
        kept.notes.update(_tell_other(trial.machine, origin) for trial in trials if trial not in own)
        if submission.purpose == "build":
            made = read_builds(
                own, project.settings, history, project.store, project.store.folder / "unpacked"
            )
            keep_builds(made, submission.builds, history, project.store)
            kept = replace(kept, builds=len(made))
        else:
            for trial in own:
                _keep_counts_of(trial, project, origin, kept)
    if missing > 0:
        kept.notes[f"{missing} trials of experiment {submission.number} have no record that counts"] += 1
    return kept


def _recognise(summary: FleetSummary, project: Project, kept: KeptExperiment) -> FleetOrigin:
    """Return the machine that the store is of, with what is known of it now.

    Raises:
        InputError: it is not the machine that it was.
    """
    store = project.store
    origin = read_origin(store)
    assert origin is not None, "it is written before anything is submitted"
    found = next((item for item in summary.workers if item.name == origin.machine), None)
    if found is None:
        return origin
    if not origin.worker_id:
        origin = FleetOrigin(origin.machine, found.worker_id, found.hardware)
        store.write_json(ORIGIN_FILE, origin)
    if origin.worker_id != found.worker_id:
        raise InputError(
            f"{origin.machine} is another machine than the one that built and measured what it holds",
            where=str(store.folder),
            remedy=f"Collect into another store: {argument('store', verb='selection collect')}.",
        )
    for name in _MATTERS:
        before, now = origin.hardware.get(name), found.hardware.get(name)
        if before != now:
            kept.notes[
                f"the {name} of {origin.machine} was {before} for the first versions and is {now} "
                "now: versions before and after differ by that too"
            ] += 1
    return origin


def _keep_profiles(folder: Path, project: Project, origin: FleetOrigin, kept: KeptExperiment) -> None:
    file = folder / "profiles.json"
    for profile in _read(file, list[BundleProfile]) if file.exists() else ():
        if profile.machine != origin.machine:
            kept.notes[_tell_other(profile.machine, origin)] += 1
        elif not profile.file:
            kept.notes[f"not profiled on {origin.machine}: {profile.reason or profile.state}"] += 1
        else:
            _keep_counts(find_in_bundle(folder, profile.file), profile.package, project, origin, kept)


def _keep_counts_of(trial: FetchedTrial, project: Project, origin: FleetOrigin, kept: KeptExperiment) -> None:
    failure = trial.record.failure
    if trial.archive is None or failure is not None:
        told = failure.message if failure is not None else "nothing came home"
        kept.notes[f"not profiled on {origin.machine}: {told}"] += 1
        return
    _keep_counts(trial.archive, trial.record.package, project, origin, kept)


def _keep_counts(
    archive: Path, program: str, project: Project, origin: FleetOrigin, kept: KeptExperiment
) -> None:
    store = project.store
    known = store.programs.get(program)
    if known is None:
        return
    try:
        keep_counts(archive, known, origin.machine, project.settings, store, store.folder / "unpacked")
    except InputError as error:
        kept.notes[f"not profiled on {origin.machine}: {error}"] += 1


def _tell_other(machine: str, origin: FleetOrigin) -> str:
    return f"{machine} did what {origin.machine} was to do: it is left out"


def _read(file: Path, kind: type[_T]) -> _T:
    return read_record(file.read_bytes(), kind, str(file))
