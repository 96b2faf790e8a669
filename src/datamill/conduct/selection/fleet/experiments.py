"""Experiments of a collection: written down, submitted, waited for, taken home, each once."""

from __future__ import annotations

import re
import secrets
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from datamill.conduct.question.read_files import FoundExperiment, read_experiment_file
from datamill.conduct.selection.collecting.settings_file import Project
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.conduct.selection.fleet.fetched.kept_experiment import keep_experiment
from datamill.conduct.selection.fleet.fleet_experiments import FleetExperiments
from datamill.conduct.selection.fleet.submitted.written_experiment import PACKAGES, write_experiment
from datamill.conduct.selection.store.fleet_origin import (
    ORIGIN_FILE,
    SUBMITTED_FILE,
    FleetOrigin,
    PendingSubmission,
    Purpose,
    forget_submission,
    read_origin,
    read_submission,
)
from datamill.experiment.errors import InputError

#: What people see of each on the fleet.
_QUESTIONS: dict[Purpose, str] = {
    "build": "What do versions of {project} look like?",
    "measure": "How fast are versions of {project}?",
    "profile": "What do versions of {project} execute?",
}
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._+-]+")


class Experiments:
    """Runs experiments for a project on one machine of a fleet, and puts what they find into its store.

    `built` counts the versions that were tried.

    Args:
        project: its store is locked.
        history: its repository.
        fleet: the coordinator.
        machine: the one that the first experiment is for; None leaves it to the coordinator.
    """

    def __init__(
        self, project: Project, history: GitHistory, fleet: FleetExperiments, machine: str | None
    ) -> None:
        self.project, self.history, self.fleet, self.machine = project, history, fleet, machine
        self.built = 0
        self._noted: Counter[str] = Counter()

    def take_left(self) -> None:
        """Take an experiment home that an earlier call submitted.

        Raises:
            InputError: it is under way at another coordinator, or what came home is damaged.
        """
        store = self.project.store
        left = read_submission(store)
        if left is None:
            return
        if left.url != self.fleet.url:
            raise InputError(
                f"an experiment for it is under way at {left.url}, and this is {self.fleet.url}",
                where=str(store.folder / SUBMITTED_FILE),
                remedy="Name that coordinator; or remove the file, and the experiment is left out.",
            )
        number = left.number or self.fleet.find(left.name)
        if number is None:
            forget_submission(store)
            return
        self._take(msgspec.structs.replace(left, number=number))

    def list_warnings(self) -> list[str]:
        """Return what was left out, and why, with how often."""
        return [f"{text} ({count} times)" if count > 1 else text for text, count in self._noted.items()]

    def begin_folder(self) -> Path:
        """Return an empty folder for the packages of an experiment."""
        folder = self.project.store.folder.absolute() / "on-fleet"
        shutil.rmtree(folder, ignore_errors=True)
        for path in (folder / PACKAGES, folder / "git"):
            path.mkdir(parents=True)
        return folder

    def run(
        self,
        purpose: Purpose,
        folder: Path,
        names: Sequence[str],
        fleet: Mapping[str, object],
        limits: Mapping[str, object],
        builds: Mapping[str, str] | None = None,
    ) -> None:
        """Submit the packages of a folder as an experiment, and take it home when it has ended.

        `builds` says of each commit by what it is built.
        """
        settings, store = self.project.settings, self.project.store
        project = _NOT_IN_NAMES.sub("-", settings.name or self.history.top.name)[:30]
        name = f"{purpose}-{project}-{secrets.token_hex(4)}"

        def write(machine: str | None) -> FoundExperiment:
            write_experiment(
                folder,
                name,
                _QUESTIONS[purpose].format(project=project),
                names,
                machine=machine,
                fleet=fleet,
                limits=limits,
                repetitions=settings.repetitions if purpose == "measure" else 1,
                benchmarks=[item.name for item in settings.benchmark] if purpose == "measure" else (),
            )
            return read_experiment_file(folder)

        origin = read_origin(store)
        if origin is None or not origin.worker_id:
            chosen = self.machine or self.fleet.choose_machine(write(None))
            origin = FleetOrigin(chosen)
            store.write_json(ORIGIN_FILE, origin)
        found = write(origin.machine)
        submission = PendingSubmission(purpose, name, self.fleet.url, builds=dict(builds or {}))
        store.write_json(SUBMITTED_FILE, submission)
        try:
            number = self.fleet.submit(found)
        except InputError:
            if self.fleet.find(name) is None:
                forget_submission(store)
            raise
        submission = msgspec.structs.replace(submission, number=number)
        store.write_json(SUBMITTED_FILE, submission)
        shutil.rmtree(folder, ignore_errors=True)
        self._take(submission)

    def _take(self, submission: PendingSubmission) -> None:
        """Wait for an experiment and take it home: kept twice, it is kept once."""
        store = self.project.store
        self.fleet.follow(submission.number)
        folder = store.folder.absolute() / "fetched"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            taken = self.fleet.take(submission.number, folder)
            kept = keep_experiment(taken, submission, self.project, self.history)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self._noted.update(kept.notes)
        self.built += kept.builds
        forget_submission(store)
