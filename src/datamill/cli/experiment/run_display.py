"""What the terminal shows of a run: sentences, and a display that stands still while a trial runs."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from datamill.cli.console import name_command
from datamill.execution.here import PendingTrial
from datamill.experiment.quantities import format_duration
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.decisions import Decision
from datamill.results.judgement.failing_packages import StoppedPackage

#: Without a terminal a line is printed at most this often.
_LINE_INTERVAL_S = 10.0


class TrialProgress:
    """Counts of done, failed and left trials, time left, and the levels of the current trial."""

    def __init__(
        self, console: Console, *, planned: int, done: int, failed: int, at_most: bool = False
    ) -> None:
        self._console = console
        self._most = "at most " if at_most else ""
        self._planned = planned
        self._done = done
        self._failed = failed
        self._started_s = time.monotonic()
        self._done_before = done
        self._current = ""
        self._last_line_s = 0.0
        self._ends_s = math.inf
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> TrialProgress:
        """Start the display."""
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the display."""
        if self._console.is_terminal:
            self._live.stop()

    def show_stage(self, text: str) -> None:
        """Say what is being done before any trial starts."""
        self._current = text
        self._draw(force=False)

    def start_trial(self, package: str, levels: Mapping[str, str]) -> None:
        """Show the levels of the trial that starts now."""
        others = "  ".join(f"{name}={level}" for name, level in levels.items() if name != "package")
        self._current = f"{package}  {others}"
        self._draw(force=False)

    def end_trial(self, *, completed: bool) -> None:
        """Count a trial that ended."""
        self._done += 1
        self._failed += not completed
        if not self._console.is_terminal:
            self._draw(force=self._done == self._planned)

    def describe_counts(self) -> str:
        """Return done, failed, left and time left in words."""
        left = self._planned - self._done
        counted = self._done - self._done_before
        text = f"{self._done} done ({self._failed} failed), {self._most}{left} left"
        if counted and left:
            per_trial_s = (time.monotonic() - self._started_s) / counted
            left_s = min(per_trial_s * left, max(0.0, self._ends_s - time.monotonic()))
            text += f", {self._most or 'about '}{format_duration(left_s)} to go"
        return text

    def limit_time(self, left_s: float) -> None:
        """Note that the experiment ends in so many seconds, however many trials are left."""
        self._ends_s = time.monotonic() + left_s

    def reset_clock(self) -> None:
        """Start counting time from here: what came before was not trials."""
        self._started_s = time.monotonic()

    def _draw(self, *, force: bool) -> None:
        if self._console.is_terminal:
            table = Table.grid(padding=(0, 1))
            table.add_row(
                ProgressBar(total=self._planned, completed=self._done, width=30), self.describe_counts()
            )
            grid = Table.grid()
            grid.add_row(table)
            grid.add_row(Text(self._current, style="dim", overflow="ellipsis", no_wrap=True))
            self._live.update(grid, refresh=True)
            return
        now_s = time.monotonic()
        if force or now_s - self._last_line_s >= _LINE_INTERVAL_S:
            self._last_line_s = now_s
            self._console.print(f"{self.describe_counts()}  [{self._current}]", markup=False, highlight=False)


class RunDisplay:
    """What `datamill run` says while it runs a bundle: a `RunListener` on a terminal.

    Args:
        console: where it is said.
        bundle: what is run.
    """

    def __init__(self, console: Console, bundle: Bundle) -> None:
        self._console = console
        self._bundle = bundle
        self._progress: TrialProgress | None = None
        self._builds = self._built = 0
        self._builds_since_s = 0.0

    @property
    def _shown(self) -> TrialProgress:
        assert self._progress is not None, "there is a display while trials run"
        return self._progress

    def tell_unrestored(self, sentences: Sequence[str]) -> None:
        """Say what of the host could not be put back as it was, if there is anything."""
        print_unrestored(sentences, self._console)

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


def print_unrestored(sentences: Sequence[str], console: Console) -> bool:
    """Say what of the host could not be put back as it was; tell whether there is anything."""
    if sentences:
        console.print(Text("This host is not as it was before:", style="bold red"))
        for sentence in sentences:
            console.print(Text(f"  {sentence}", style="red"))
        console.print(f"Put it right, then type {name_command()} worker restore.")
    return bool(sentences)
