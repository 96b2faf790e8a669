"""What the terminal says of an experiment that is run, from its question to its report."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from datamill.cli.console import name_command, tell_waiting
from datamill.cli.experiment.reporting import print_report
from datamill.cli.experiment.trial_progress import TrialProgress
from datamill.execution.here import PendingTrial
from datamill.experiment.quantities import format_duration
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.decisions import Decision
from datamill.results.judgement.failing_packages import StoppedPackage

if TYPE_CHECKING:
    from datamill.conduct.report_bundle import BundleReport


class RunDisplay:
    """What `datamill run` says: an `ExperimentListener` on a terminal, the given console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._running: Bundle | None = None
        self._progress: TrialProgress | None = None
        self._builds = self._built = 0
        self._builds_since_s = 0.0

    @property
    def _shown(self) -> TrialProgress:
        assert self._progress is not None, "there is a display while trials run"
        return self._progress

    @property
    def _bundle(self) -> Bundle:
        assert self._running is not None, "there is a bundle before its trials"
        return self._running

    def tell_follow_up(self, decisions: Sequence[str]) -> None:
        """Say what became of the factors of a screening."""
        for line in decisions:
            self._console.print(Text(line))

    def tell_notes(self, notes: Sequence[str]) -> None:
        """Say what is not followed here."""
        for note in notes:
            self._console.print(f"Note: {note}", style="dim", highlight=False, markup=False)

    def tell_doubts(self, doubts: Sequence[str]) -> None:
        """Warn of what may disappoint."""
        for doubt in doubts:
            self._console.print(f"Warning: {doubt}", style="yellow", highlight=False, markup=False)

    def tell_waiting(self, sentence: str) -> None:
        """Say what is waited for."""
        tell_waiting(sentence)

    def begin_run(self, bundle: Bundle) -> None:
        """Remember what is run."""
        self._running = bundle

    def tell_unrestored(self, sentences: Sequence[str]) -> None:
        """Say what of the host could not be put back as it was, if there is anything."""
        if sentences:
            self._console.print(Text("This host is not as it was before:", style="bold red"))
            for sentence in sentences:
                self._console.print(Text(f"  {sentence}", style="red"))
            self._console.print(f"Put it right, then type {name_command()} worker restore.")

    def tell_pending(self, pending: int) -> None:
        """Say how many trials are to run, and where they go."""
        experiment, planned = self._bundle.experiment, len(self._bundle.list_needed_trials())
        most = "at most " if experiment.until is not None and pending else ""
        self._console.print(
            f"{experiment.name}: {most}{pending} of {planned} trials to run, into {self._bundle.folder}/"
        )

    def tell_repeats(self, repeats: int) -> None:
        """Say how many trials run once more."""
        self._console.print(f"{repeats} trials to repeat, since they may have been disturbed")

    @contextmanager
    def show_trials(self, *, planned: int, done: int, failed: int, at_most: bool) -> Iterator[TrialProgress]:
        """Show how far the trials are until this ends."""
        progress = TrialProgress(self._console, planned=planned, done=done, failed=failed, at_most=at_most)
        with progress as self._progress:
            yield progress
        self._progress = None

    def begin_builds(self, builds: int) -> None:
        """Show that builds are made."""
        self._builds, self._built, self._builds_since_s = builds, 0, time.monotonic()
        self._shown.show_stage(f"building: 0 of {builds}")

    def end_build(self, item: PendingTrial, problem: str) -> None:
        """Show how many builds are made and how long the others take; say why one failed."""
        self._built += 1
        left_s = (time.monotonic() - self._builds_since_s) / self._built * (self._builds - self._built)
        to_go = f", about {format_duration(left_s)} to go" if left_s else ""
        self._shown.show_stage(f"building: {self._built} of {self._builds}{to_go}")
        if problem:
            levels = "  ".join(f"{name}={level}" for name, level in item.trial.levels.items())
            self._console.print(f"build failed ({levels}): {problem}", markup=False)

    def begin_trials(self) -> None:
        """Count time from here."""
        self._shown.reset_clock()

    def limit_time(self, left_s: float) -> None:
        """Note when the experiment ends at the latest."""
        self._shown.limit_time(left_s)

    def begin_trial(self, item: PendingTrial) -> None:
        """Show the levels of the trial that starts now."""
        self._shown.start_trial(item.trial.package, item.trial.levels)

    def end_trial(self, record: TrialRecord) -> None:
        """Count a trial that ended."""
        self._shown.end_trial(completed=record.outcome == "completed")

    def stop_package(self, package: StoppedPackage) -> None:
        """Say at once that the other trials of a package are left out, why, and what to do."""
        text = (
            f"{package.sentence} Its other trials are left out (--keep-going runs them). Mend it and begin "
            "anew; --resume goes on with the package as it was."
        )
        self._console.print(Text(text, style="red"))

    def tell_decision(self, decision: Decision) -> None:
        """Say in one line what was decided after a batch."""
        text = f"stop: {decision.reason}" if decision.decision == "stop" else decision.reason
        self._console.print(
            f"look {decision.look}, {decision.trials} trials: {text}", markup=False, highlight=False
        )

    def tell_unsound(self) -> None:
        """Say that the bundle is of no use."""
        self._console.print(
            f"Stopped. Correct the question and begin anew; {self._bundle.folder} can be removed."
        )

    def tell_stopped(self) -> None:
        """Say how to go on."""
        command = f"{name_command()} run --resume {self._bundle.folder}"
        self._console.print(f"Stopped. What was measured is kept; continue with: {command}")

    def tell_ended(self, stopped: Sequence[StoppedPackage]) -> None:
        """Say that all trials ended, but those that were left out."""
        told = "All trials that are needed have ended"
        if stopped:
            told = f"All trials have ended but those of {', '.join(item.package for item in stopped)}"
        self._console.print(f"{told}; analysing …", highlight=False, markup=False)

    def tell_report(self, report: BundleReport) -> None:
        """Print the answer and where the report is."""
        print_report(report, self._console)
