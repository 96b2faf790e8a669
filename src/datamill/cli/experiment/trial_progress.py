"""How far the trials of a run are: a display that stands still while a trial runs."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from datamill.experiment.quantities import format_duration

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
