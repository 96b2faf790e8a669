"""From an experiment file to its report, on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from datamill.conduct.experiment_listener import ExperimentListener
from datamill.conduct.question.design_size import check_design_size
from datamill.conduct.question.host import ask_host, check_constraints, list_fleet_notes
from datamill.conduct.question.read_files import FoundExperiment, read_experiment_file
from datamill.conduct.question.screening.follow_up import read_follow_up
from datamill.conduct.question.screening.screening_first import read_screening_question
from datamill.conduct.running.both_parts import (
    PreparedPart,
    ResumedRun,
    begin_screening,
    find_main_part,
    find_part_to_resume,
    phrase_screening_first,
)
from datamill.conduct.running.make_bundle import make_bundle
from datamill.conduct.running.resuming import open_resumable
from datamill.conduct.running.run_bundle import BundleRun, run_bundle
from datamill.design.design import DesignFactor, PlannedTrial
from datamill.design.trials import build_design
from datamill.execution.here import list_pending_trials
from datamill.execution.host_lock import lock_host
from datamill.execution.seen_places import check_needed_folders, list_unseen_values
from datamill.execution.state_folder import check_state_folder
from datamill.execution.worker import WorkerProgram, find_worker, read_host_facts
from datamill.experiment.errors import QuestionError
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.opening import lock_bundle, open_bundle

if TYPE_CHECKING:
    from datamill.conduct.report_bundle import BundleReport


@dataclass(frozen=True, slots=True)
class NewRun:
    """An experiment to run into a new bundle: that of a file, or the one that follows a screening.

    Args:
        file: an experiment file, or a folder with one; with `after_screening` the question of what follows.
        after_screening: the bundle of a screening, whose survivors are crossed.
        out: the folder of the new bundle, named after experiment and time without it.
        allow_trials: confirms a design of up to so many trials.
    """

    file: Path | None = None
    after_screening: Path | None = None
    out: Path | None = None
    allow_trials: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ConductedExperiment:
    """An experiment that was run and reported; `unrestored` is what of the host is not as it was before."""

    report: BundleReport
    unrestored: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrialOrder:
    """The trials that would run, in their order, and the factors of their design."""

    factors: tuple[DesignFactor, ...]
    trials: tuple[PlannedTrial, ...]


def conduct_experiment(
    asked: NewRun | ResumedRun,
    listener: ExperimentListener,
    *,
    repeat_doubtful: bool = False,
    keep_going: bool = False,
) -> ConductedExperiment:
    """Run an experiment on this machine, one trial at a time, and report what it says.

    Args:
        asked: what is run.
        listener: hears of each step.
        repeat_doubtful: at the end repeat trials that may have been disturbed.
        keep_going: go on however many trials fail.

    Raises:
        InputError: when the experiment cannot be used, or may not run here.
        QuestionError: when a trial showed that the question cannot be answered.
    """

    def conduct(part: ResumedRun | PreparedPart) -> ConductedExperiment:
        return _conduct_part(part, listener, repeat_doubtful=repeat_doubtful, keep_going=keep_going)

    if isinstance(asked, ResumedRun):
        asked = find_part_to_resume(asked)
        ended = conduct(asked)
        main = find_main_part(asked.bundle, listener.tell_follow_up)
    else:
        question = read_question(asked, listener.tell_follow_up)
        if question.experiment.screen != "auto":
            return conduct(PreparedPart(question, asked.out, asked.allow_trials))
        first = begin_screening(question, asked.out or name_bundle(question.experiment.name))
        listener.tell_notes([phrase_screening_first(first)])
        assert first.folder is not None
        ended = conduct(first)
        main = find_main_part(first.folder, listener.tell_follow_up, allow_trials=asked.allow_trials)
    return ended if main is None else conduct(main)


def _conduct_part(
    asked: ResumedRun | PreparedPart, listener: ExperimentListener, *, repeat_doubtful: bool, keep_going: bool
) -> ConductedExperiment:
    """Run one bundle to its end and report it: an experiment, or the screening before one."""
    binary = find_worker()
    host = read_host_facts(binary)
    with ExitStack() as locks:
        if isinstance(asked, ResumedRun):
            bundle = open_resumable(asked.bundle, host)
            # The host first: where a killed command's worker still ends its trial, which holds the bundle
            # as well, that is known and waited for.
            host_lock = locks.enter_context(lock_host(tell=listener.tell_waiting))
        else:
            found = ask_host(asked.question, binary)
            check_design_size(found, asked.allow_trials)
            check_constraints(found.experiment.constraints, host, where=str(found.path))
            folder = asked.folder or name_bundle(found.experiment.name)
            prepare_question(found, folder, binary, listener)
            # Before there is a bundle: one that was refused its host would only be in the way.
            host_lock = locks.enter_context(lock_host(tell=listener.tell_waiting))
            bundle = make_bundle(found, folder, asked.also)
        bundle_lock = locks.enter_context(lock_bundle(bundle))
        scratch = (bundle.work / "scratch").absolute()
        worker = WorkerProgram(binary, scratch, inherited=(bundle_lock, *host_lock))
        retry_failed = isinstance(asked, ResumedRun) and asked.retry_failed
        try:
            ended = run_told(bundle, worker, listener, retry_failed, repeat_doubtful, keep_going)
            # Imported late: figures and statistics take a second to load, which a trial need not wait for.
            from datamill.conduct.report_bundle import report_bundle

            report = report_bundle(bundle, ended.records)
            listener.tell_report(report)
        finally:
            # Whatever ended the experiment: what is amiss with the host is the last thing that is said.
            unrestored = tuple(worker.restore_host())
            listener.tell_unrestored(unrestored)
    return ConductedExperiment(report, unrestored)


def list_trial_order(asked: NewRun | ResumedRun, tell: Callable[[Sequence[str]], None]) -> TrialOrder:
    """Return the trials that would run; nothing runs, and nothing is written.

    `tell` is called with what became of the factors of a screening.

    Raises:
        InputError: when the experiment or the bundle cannot be used.
    """
    if isinstance(asked, ResumedRun):
        bundle = open_bundle(asked.bundle)
        pending = list_pending_trials(bundle, bundle.read_records())
        return TrialOrder(bundle.design.factors, tuple(item.trial for item in pending))
    question = read_question(asked, tell)
    if question.experiment.screen == "auto":
        tell(["These are the trials of the screening that comes first."])
        question = read_screening_question(question)
    found = ask_host(question, find_worker())
    check_design_size(found, asked.allow_trials)
    design = build_design(found.experiment, found.offers)
    return TrialOrder(design.factors, design.trials)


def read_question(asked: NewRun, tell: Callable[[Sequence[str]], None]) -> FoundExperiment:
    """Read the experiment file, or make the experiment that follows a screening and tell what was decided.

    Raises:
        InputError: when the file or the screening cannot be used.
    """
    if asked.after_screening is None:
        assert asked.file is not None, "an experiment has a file, or follows a screening"
        return read_experiment_file(asked.file)
    found, decisions = read_follow_up(asked.after_screening, asked.file)
    tell(decisions)
    return found


def name_bundle(experiment: str) -> Path:
    """Return the folder of a bundle that nobody named, after the experiment and the time."""
    return Path(f"{experiment}-{datetime.now().astimezone():%Y%m%d-%H%M%S}")


def prepare_question(
    found: FoundExperiment, folder: Path, binary: Path, listener: ExperimentListener
) -> None:
    """Tell what of a question is not followed or was never seen here, and make sure that it can run.

    Raises:
        InputError: when a folder that is needed is not there, or not as it must be.
    """
    listener.tell_notes([*found.notes, *list_fleet_notes(found.experiment)])
    listener.tell_doubts(list_unseen_values(found.experiment, found.packages, found.loads, binary))
    check_state_folder(choice.name for choice in found.experiment.choices)
    check_needed_folders(found.experiment, binary, where=str(found.path), bundle=folder)


def run_told(
    bundle: Bundle,
    worker: WorkerProgram,
    listener: ExperimentListener,
    retry_failed: bool,
    repeat_doubtful: bool,
    keep_going: bool,
) -> BundleRun:
    """Run what a bundle lacks, and tell when something ends it early."""
    listener.begin_run(bundle)
    try:
        ended = run_bundle(
            bundle,
            worker,
            listener,
            retry_failed=retry_failed,
            repeat_doubtful=repeat_doubtful,
            keep_going=keep_going,
        )
    except QuestionError:
        listener.tell_unsound()
        raise
    except BaseException:
        listener.tell_stopped()
        raise
    listener.tell_ended(ended.stopped)
    return ended
