"""A trial of each package before an experiment runs: whether it works, and how long it takes."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Protocol

from datamill.conduct.question.read_files import FoundExperiment
from datamill.conduct.running.make_bundle import make_bundle
from datamill.execution.here import PendingTrial, clear_scratch, list_pending_trials, run_pending_trials
from datamill.execution.trial_times import list_trial_times, remember_trial_times
from datamill.execution.worker import WorkerProgram
from datamill.experiment.errors import InputError


class PilotListener(Protocol):
    """Who hears of each trial of a pilot."""

    def tell_waiting(self, sentence: str) -> None:
        """Hear what is waited for before the first trial."""

    def begin_trial(self, package: str) -> None:
        """Hear that the trial of a package begins."""

    def complete_trial(self, package: str, run_time_ns: int) -> None:
        """Hear that it completed, and how long `run.sh` took."""


def run_pilot(file: FoundExperiment, binary: Path, lock: tuple[int, ...], listener: PilotListener) -> None:
    """Run the first planned trial of each package in a bundle of its own and remember how long it took.

    The bundle is thrown away, unless a trial failed: what it printed may say why. `lock` is the host's.

    Raises:
        InputError: when a trial does not complete, or lacks a name that a response needs.
    """
    folder = Path(tempfile.mkdtemp(prefix="datamill-pilot-"))
    bundle = make_bundle(file, folder / "bundle")
    clear_scratch(bundle)
    first: dict[str, PendingTrial] = {}
    for item in list_pending_trials(bundle, []):
        if item.trial.purpose == "question":
            first.setdefault(item.trial.package, item)
    worker = WorkerProgram(binary, bundle.work / "scratch", inherited=lock)
    unrestored = worker.restore_host()
    failures = [f"the host is not as it was before: {sentence}" for sentence in unrestored]
    for item, record in run_pending_trials(bundle, list(first.values()), worker):
        package = item.trial.package
        if record is None:
            listener.begin_trial(package)
        elif record.failure is not None:
            failures.append(f"package {package}: {record.failure.message}")
            failures += record.unrestored
        elif record.run is not None:
            listener.complete_trial(package, record.run.wall_time_ns)
    if failures:
        raise InputError(
            "\n".join(failures), where="pilot", remedy=f"What the scripts printed is in {bundle.artifacts}."
        )
    remember_trial_times(list_trial_times(bundle.read_records(), bundle.design.trials))
    shutil.rmtree(folder, ignore_errors=True)
