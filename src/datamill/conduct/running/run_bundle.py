"""What a bundle still lacks is run on this machine; a listener hears of it as it happens."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from datamill.execution.here import (
    PendingTrial,
    TrialRunner,
    clear_scratch,
    list_pending_trials,
    list_shared_builds,
    make_shared_builds,
    run_pending_trials,
)
from datamill.execution.trial_times import list_trial_times, remember_trial_times
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.decisions import Decision
from datamill.results.judgement.failing_packages import StoppedPackage


class RunListener(Protocol):
    """Hears how the run of a bundle goes on, such as a terminal; never while a trial runs."""

    def tell_unrestored(self, sentences: Sequence[str]) -> None:
        """What of the host an earlier run left changed and could not be put back, one sentence each."""
        ...

    def tell_pending(self, pending: int) -> None:
        """So many trials are to run."""
        ...

    def tell_repeats(self, repeats: int) -> None:
        """So many trials run once more, since they may have been disturbed."""
        ...

    def show_trials(
        self, *, planned: int, done: int, failed: int, at_most: bool
    ) -> AbstractContextManager[object]:
        """Trials run until this context ends.

        Args:
            planned: trials of the design.
            done: those of them that are done already.
            failed: trials that had ended without completing.
            at_most: whether a decision may end the experiment before all of them ran.
        """
        ...

    def begin_builds(self, builds: int) -> None:
        """So many shared builds are made before the next trials."""
        ...

    def end_build(self, item: PendingTrial, problem: str) -> None:
        """A shared build ended, with an empty text or with the reason why it failed."""
        ...

    def begin_trials(self) -> None:
        """The first builds are made: trials begin."""
        ...

    def limit_time(self, left_s: float) -> None:
        """The experiment ends in so many seconds, however many trials are left."""
        ...

    def begin_trial(self, item: PendingTrial) -> None:
        """A trial starts now."""
        ...

    def end_trial(self, record: TrialRecord) -> None:
        """A trial ended and is on disk."""
        ...

    def stop_package(self, package: StoppedPackage) -> None:
        """The other trials of a package are left out."""
        ...

    def tell_decision(self, decision: Decision) -> None:
        """It was decided after a batch whether the experiment goes on."""
        ...


@dataclass(frozen=True, slots=True)
class BundleRun:
    """A run that ended: all records of its bundle, and the packages whose other trials were left out."""

    records: tuple[TrialRecord, ...]
    stopped: tuple[StoppedPackage, ...]


def run_bundle(
    bundle: Bundle,
    worker: TrialRunner,
    listener: RunListener,
    *,
    retry_failed: bool = False,
    repeat_doubtful: bool = False,
    keep_going: bool = False,
) -> BundleRun:
    """Run what a bundle lacks, after what an earlier run left on the host was put back.

    Args:
        bundle: where each record goes as soon as its trial ended.
        worker: what runs trials here.
        listener: hears of each step.
        retry_failed: attempt again each trial that did not complete.
        repeat_doubtful: at the end repeat trials that may have been disturbed.
        keep_going: go on however many trials fail.

    Raises:
        QuestionError: as `run_pending_trials` does, and whatever else it raises.
    """
    # What a worker left that died with the command that called it; before the scratch space goes, where
    # some of what undoes it may be.
    listener.tell_unrestored(worker.restore_host())
    clear_scratch(bundle)
    before = bundle.read_records()
    pending = list_pending_trials(bundle, before, retry_failed=retry_failed)
    listener.tell_pending(len(pending))
    decides = bundle.experiment.until is not None
    run = run_trials(bundle, pending, before, worker, listener, keep_going=keep_going, decides=decides)
    if repeat_doubtful:
        names = {package.package for package in run.stopped}
        doubtful = [
            item
            for item in list_pending_trials(bundle, run.records, repeat_doubtful=True)
            if item.trial.package not in names
        ]
        listener.tell_repeats(len(doubtful))
        repeated = run_trials(bundle, doubtful, run.records, worker, listener, keep_going=keep_going)
        run = BundleRun(repeated.records, run.stopped)
    remember_trial_times(list_trial_times(run.records, bundle.design.trials))
    shutil.rmtree(bundle.work, ignore_errors=True)
    return run


def run_trials(
    bundle: Bundle,
    pending: Sequence[PendingTrial],
    before: Sequence[TrialRecord],
    worker: TrialRunner,
    listener: RunListener,
    *,
    keep_going: bool,
    decides: bool = False,
) -> BundleRun:
    """Run pending trials, after the builds that they share.

    With `decides` they come in batches, each after its own builds, until a decision stops them. `before` are
    the bundle's records by now.
    """
    planned = len(bundle.list_needed_trials())
    waiting = {item.trial.trial_id for item in pending}
    done = [record for record in before if record.trial_id not in waiting]
    completed = {record.trial_id for record in done if record.outcome == "completed"}
    failed = len({record.trial_id for record in done} - completed)
    stopped: list[StoppedPackage] = []
    ended: list[TrialRecord] = []

    def prepare(items: Sequence[PendingTrial]) -> None:
        make_builds(bundle, items, worker, listener)

    def note_stop(package: StoppedPackage) -> None:
        stopped.append(package)
        listener.stop_package(package)

    with listener.show_trials(planned=planned, done=planned - len(pending), failed=failed, at_most=decides):
        monitor = None
        trials: Iterable[PendingTrial] = pending
        if decides:
            # Imported late: statistics take a moment to load, which other experiments need not wait for.
            from datamill.conduct.running.batches import Monitor

            monitor = Monitor(bundle, before)
            decisions = bundle.read_decisions()
            _limit_time(listener, bundle, decisions[-1].elapsed_s if decisions else 0.0)

            def tell(decision: Decision) -> None:
                listener.tell_decision(decision)
                _limit_time(listener, bundle, decision.elapsed_s)

            trials = monitor.feed_trials(pending, prepare, tell)
        else:
            prepare(pending)
        listener.begin_trials()
        for item, record in run_pending_trials(
            bundle, trials, worker, keep_going=keep_going, on_stop=note_stop
        ):
            if record is None:
                listener.begin_trial(item)
                continue
            listener.end_trial(record)
            ended.append(record)
            if monitor is not None:
                monitor.add_record(record)
    return BundleRun((*before, *ended), tuple(stopped))


def make_builds(
    bundle: Bundle, pending: Sequence[PendingTrial], worker: TrialRunner, listener: RunListener
) -> None:
    """Make the builds that pending trials share, if they share any."""
    if builds := list_shared_builds(bundle, pending):
        listener.begin_builds(len(builds))
        make_shared_builds(bundle, builds, worker, listener.end_build)


def _limit_time(listener: RunListener, bundle: Bundle, elapsed_s: float) -> None:
    rule = bundle.experiment.until
    if rule is not None and rule.max_time_s:
        listener.limit_time(rule.max_time_s - elapsed_s)
