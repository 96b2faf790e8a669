"""Running a design on this machine, one trial at a time, into a bundle."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Protocol

from datamill.design.design import PlannedTrial
from datamill.design.trials import name_build
from datamill.execution.errors import WorkerError, WorkerKilledError
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.protocol.trial import TrialRecord, TrialSpec
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.trial_spec import specify_trial
from datamill.results.judgement.doubts import judge_disturbances
from datamill.results.judgement.failing_packages import FailingPackages, StoppedPackage
from datamill.results.judgement.validity import count_trials_once, wants_another_attempt
from datamill.results.trials.responses import check_response_names, list_wanted_responses

#: Attempts at a trial that fails for reasons of the host, over all runs of the experiment.
MOST_ATTEMPTS = 3
#: Failed trials in a row after which going on would only waste time.
MOST_FAILURES_IN_A_ROW = 5


class TrialRunner(Protocol):
    """Whoever can run a trial: the worker, or a stand-in that makes the order of execution visible."""

    def run_trial(self, spec: TrialSpec) -> TrialRecord:
        """Run one trial and return its record."""
        ...

    def build_package(self, spec: TrialSpec) -> None:
        """Make the shared build of a trial if it does not exist yet."""
        ...

    def restore_host(self) -> list[str]:
        """Undo what a worker that died left changed on the host; return what could not be undone."""
        ...

    def stop(self) -> None:
        """End whatever is still running."""
        ...


@dataclass(frozen=True, slots=True)
class PendingTrial:
    """A planned trial that still has to be attempted, and the number of that attempt."""

    trial: PlannedTrial
    attempt: int


def list_pending_trials(
    bundle: Bundle,
    records: Sequence[TrialRecord],
    *,
    retry_failed: bool = False,
    repeat_doubtful: bool = False,
) -> list[PendingTrial]:
    """Return the trials that are needed and not done, in run order.

    A trial is done when an attempt completed or failed for the package's own reasons; one that failed
    for the host's reasons is attempted again, up to `MOST_ATTEMPTS`. `retry_failed` attempts every
    trial that did not complete, `repeat_doubtful` those that may have been disturbed in each of fewer
    than `MOST_ATTEMPTS` attempts.
    """
    counted = count_trials_once(records).counted
    doubts = judge_disturbances(records) if repeat_doubtful else {}
    latest = {(record.trial_id, record.attempt): record for record in records}
    attempts: dict[str, int] = {}
    for record in records:
        attempts[record.trial_id] = max(attempts.get(record.trial_id, 0), record.attempt)
    pending = []
    for trial in bundle.list_needed_trials():
        if trial.trial_id not in counted:
            pending.append(PendingTrial(trial, 1))
            continue
        record = latest[trial.trial_id, counted[trial.trial_id]]
        tried = attempts[trial.trial_id]
        again = wants_another_attempt(record) and tried < MOST_ATTEMPTS
        doubtful = (trial.trial_id, record.attempt) in doubts and tried < MOST_ATTEMPTS
        if doubtful or (record.outcome != "completed" and (again or retry_failed)):
            pending.append(PendingTrial(trial, tried + 1))
    return pending


def build_trial_spec(bundle: Bundle, pending: PendingTrial, *, scratch: str = "world") -> TrialSpec:
    """Return the specification of an attempt at a trial on this machine.

    `scratch` names its folder in the scratch space: the same one for all trials, since a package
    without isolation sees that path, which must not become a hidden factor.
    """
    trial, work = pending.trial, bundle.work.absolute()
    return specify_trial(
        bundle.experiment,
        bundle.head,
        trial,
        pending.attempt,
        locate=lambda item: str((bundle.folder / item.file).absolute()),
        scratch_dir=str(work / "scratch" / scratch),
        cache_dir=str(work / "cache"),
        output_dir=str(bundle.artifacts.absolute() / f"{trial.trial_id}.{pending.attempt}"),
        covered=(str(bundle.folder.absolute()),),
    )


def list_shared_builds(bundle: Bundle, pending: Sequence[PendingTrial]) -> list[PendingTrial]:
    """Return one pending trial for each build that pending trials share; none when builds are fresh."""
    if bundle.experiment.build != "shared":
        return []
    with_setup = {package.name for package in bundle.head.packages if package.has_setup}
    first: dict[tuple[str, ...], PendingTrial] = {}
    for item in pending:
        if item.trial.package in with_setup:
            first.setdefault(name_build(bundle.design, item.trial), item)
    return list(first.values())


def make_shared_builds(
    bundle: Bundle,
    builds: Sequence[PendingTrial],
    runner: TrialRunner,
    on_build: Callable[[PendingTrial, str], None],
) -> None:
    """Make shared builds before anything is measured, as many at a time as there are processors.

    `on_build` hears of each one with an empty text, or with the reason why it failed; a failed build is
    tried again by its first trial, whose record then tells of it.
    """
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        running = {
            pool.submit(
                runner.build_package, build_trial_spec(bundle, build, scratch=build.trial.trial_id)
            ): build
            for build in builds
        }
        try:
            for future in as_completed(running):
                try:
                    future.result()
                    on_build(running[future], "")
                except WorkerError as error:
                    on_build(running[future], str(error))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            runner.stop()
            raise


def run_pending_trials(
    bundle: Bundle,
    pending: Iterable[PendingTrial],
    runner: TrialRunner,
    *,
    keep_going: bool = False,
    on_stop: Callable[[StoppedPackage], None] = lambda _: None,
) -> Iterator[tuple[PendingTrial, TrialRecord | None]]:
    """Run pending trials in order; yield each trial before it starts (with None) and after it is on disk.

    `pending` is asked for the next one only when the one before is on disk and was yielded. A package whose
    first trials all fail alike is stopped (unless `keep_going`): `on_stop` hears of it, its other trials are
    left out, and those of other packages go on, unless the experiment decides after each batch.

    Raises:
        QuestionError: when a response needs a name that a package does not provide.
        InputError: when `MOST_FAILURES_IN_A_ROW` trials failed, or every package is stopped (unless
            `keep_going`).
        OSError: when the bundle's disk is full; whatever was there before is kept.
        WorkerError: when the worker produced no record, twice in a row when it was killed.
    """
    wanted = list_wanted_responses(bundle.experiment)
    known: set[str] = set()
    failures = 0
    sound = {record.package for record in bundle.read_records() if record.outcome == "completed"}
    failing = FailingPackages(bundle.design.trials, sound)
    for item in pending:
        if item.trial.package in failing.stopped:
            continue
        yield item, None
        record = _run_trial(build_trial_spec(bundle, item), runner)
        bundle.append_records([record])
        yield item, record
        if record.outcome == "completed":
            failures = 0
            failing.judge(record)
            if record.package not in known:
                check_response_names(record, wanted, where=bundle.head.experiment_file)
                known.add(record.package)
            continue
        if keep_going:
            continue
        failures += 1
        told = ""
        if (stopped := failing.judge(record)) is not None:
            on_stop(stopped)
        if stopped is not None and (failing.leaves_none() or bundle.experiment.until is not None):
            told = f'the first {stopped.failures} trials of package "{stopped.package}" failed alike'
        elif failures >= MOST_FAILURES_IN_A_ROW:
            told = f"{failures} trials failed in a row"
        if told:
            message = record.failure.message if record.failure else "no reason is known"
            remedy = record.failure.remedy if record.failure else ""
            raise InputError(
                f"{told}; the last one: {message}",
                where=str(bundle.artifacts / f"{item.trial.trial_id}.{item.attempt}"),
                remedy=f"{remedy} Then start anew, or continue with {argument('resume', verb='run')} "
                f"(and {argument('retry_failed', verb='run')}, or "
                f"{argument('keep_going', verb='run')}).".strip(),
            )


def _run_trial(spec: TrialSpec, runner: TrialRunner) -> TrialRecord:
    """Run a trial; a worker that was killed gets a second chance, on a host that is as before."""
    try:
        return runner.run_trial(spec)
    except WorkerKilledError:
        runner.restore_host()
        shutil.rmtree(spec.scratch_dir, ignore_errors=True)
        shutil.rmtree(spec.output_dir, ignore_errors=True)
    try:
        return runner.run_trial(spec)
    except WorkerKilledError:
        runner.restore_host()
        raise


def clear_scratch(bundle: Bundle) -> None:
    """Remove what an interrupted trial left in the scratch space; caches stay."""
    shutil.rmtree(bundle.work / "scratch", ignore_errors=True)
    (bundle.work / "scratch").mkdir(parents=True, exist_ok=True)
