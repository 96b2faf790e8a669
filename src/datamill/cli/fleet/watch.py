"""`datamill watch`: an experiment of the fleet, live."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click
from rich import box
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from datamill.cli.console import make_console, make_table_console, name_command
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.coordinator.event_stream import StreamEvent, follow_experiment
from datamill.experiment.quantities import format_duration
from datamill.protocol.api.events import EndNews, EventLine, OutputNews, ProgressNews
from datamill.protocol.api.experiments import ExperimentLine, ExperimentStatus

#: The experiment ended, and not because all its trials had.
EXIT_NOT_COMPLETED = 1
#: Without a terminal a line of progress is printed at most this often.
_LINE_INTERVAL_S = 10.0
#: Debug trials are done where those of the design are counted.
_ENDED = ("counted", "done", "given_up", "cancelled")
#: What happens to every trial that goes well is in the numbers.
_USUAL = frozenset(
    {"attempt leased", "attempt taken", "attempt counted", "attempt done", "experiment submitted"}
)
#: Workers that have a line of their own.
_MOST_WORKERS = 12


@click.command()
@click.argument("number", metavar="[ID]", type=click.IntRange(min=1), required=False)
@coordinator_options
def watch(number: int | None, url: str | None, key: str | None) -> None:
    """Show experiment ID live until it has ended: its progress, what goes wrong, what debug trials print.

    Without ID, list the experiments that you may see, the latest first.

    A coordinator that is restarted only interrupts it; Ctrl-C ends the watching and not the experiment.

    Exit status: 0 when the experiment completed, 1 when it ended without, 2 when it cannot be watched.
    """
    if number is None:
        with connect(url, key) as coordinator:
            print_experiments(coordinator.get("/experiments", list[ExperimentLine]))
        return
    console = make_console()
    state = ""
    with connect(url, key) as coordinator, FleetProgress(console, number) as progress:
        experiment = coordinator.get(f"/experiments/{number}", ExperimentStatus)
        console.print(Text(f"experiment {number}: {experiment.name}", style="bold"))
        for event in follow_experiment(coordinator, number, progress.tell):
            progress.show(event)
            if isinstance(event.content, EndNews):
                state = event.content.state
        ended = coordinator.get(f"/experiments/{number}", ExperimentStatus)
    trials = ended.trials or ended.debug_trials
    reached, what = ("counted", "trials counted") if ended.trials else ("done", "debug trials done")
    given_up = trials.get("given_up", 0)
    lost = f", {given_up} given up" if given_up else ""
    stopped = ended.stopped
    if stopped:
        names = ", ".join(item.package for item in stopped)
        lost += f", {trials.get('cancelled', 0)} cancelled, since {names} failed from the first trial on"
    console.print(
        Text(
            f"{state}: {trials.get(reached, 0)} of {sum(trials.values())} {what}{lost}",
            style="green" if state == "completed" and not given_up and not stopped else "yellow",
        )
    )
    console.print(f"{name_command()} fetch {number}")
    raise SystemExit(0 if state == "completed" else EXIT_NOT_COMPLETED)


def print_experiments(experiments: Sequence[ExperimentLine]) -> None:
    """Print a line for each experiment."""
    console = make_table_console()
    if not experiments:
        console.print("There are no experiments that you may see: datamill submit FILE makes one.")
        return
    table = Table(box=box.SIMPLE, pad_edge=False)
    for header in ("experiment", "name", "owner", "state", "submitted"):
        table.add_column(header, no_wrap=True)
    table.add_column("")
    for item in experiments:
        submitted = time.strftime("%Y-%m-%d %H:%M", time.localtime(item.submitted_unix_s))
        cells = (str(item.id), item.name, item.owner, item.state, submitted, item.state_reason)
        table.add_row(*(Text(cell) for cell in cells))
    console.print(table)


class FleetProgress:
    """The live display: bar, counts, time to go, workers; above it what happened and was printed."""

    def __init__(self, console: Console, number: int) -> None:
        self._console = console
        self._number = number
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._last_line_s = 0.0
        self._last_line = ""
        self._state = ""
        self._torn: dict[tuple[str, str], str] = {}

    def __enter__(self) -> FleetProgress:
        """Start the display."""
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the display, with the last lines that had no end."""
        if self._console.is_terminal:
            self._live.stop()
        for (who, phase), rest in self._torn.items():
            self._print_output(who, phase, rest)

    def tell(self, sentence: str) -> None:
        """Print a sentence above the display."""
        self._console.print(Text(sentence, style="yellow"))

    def show(self, event: StreamEvent) -> None:
        """Show one event of the stream."""
        content = event.content
        if isinstance(content, ProgressNews):
            self._show_progress(content)
        elif isinstance(content, OutputNews):
            self._show_output(content)
        elif isinstance(content, EventLine) and content.kind not in _USUAL:
            clock = time.strftime("%H:%M:%S", time.localtime(content.unix_s))
            who = " ".join(part for part in (content.worker, content.attempt) if part)
            told = f"{clock} {content.kind}{f' ({who})' if who else ''}"
            detail = f": {content.detail}" if content.detail else ""
            # A package that is stopped is what its owner has to see.
            style = "red" if content.kind == "package stopped" else "dim"
            self._console.print(Text(_clean(f"{told}{detail}"), style=style))

    def _show_output(self, content: OutputNews) -> None:
        where = (f"{content.worker} {content.trial}", content.phase)
        *lines, rest = (self._torn.pop(where, "") + content.text).split("\n")
        for line in lines:
            self._print_output(*where, line)
        if rest:
            self._torn[where] = rest

    def _print_output(self, who: str, phase: str, line: str) -> None:
        text = Text(f"{who} {phase} | ", style="cyan")
        text.append(_clean(line.rstrip("\r")), style="default")
        self._console.print(text)

    def _show_progress(self, content: ProgressNews) -> None:
        if content.state != self._state:
            self._state = content.state
            reason = f": {content.reason}" if content.reason else ""
            if self._state == "held":
                go_on, end = (f"{name_command()} {verb} {self._number}" for verb in ("release", "cancel"))
                self.tell(f"held{reason}. Go on with {go_on}, or end it with {end}.")
        summary = describe_progress(content)
        if self._console.is_terminal:
            self._live.update(_draw(content, summary), refresh=True)
            return
        now_s = time.monotonic()
        ended = self._state in ("completed", "cancelled")
        if summary != self._last_line and (ended or now_s - self._last_line_s >= _LINE_INTERVAL_S):
            self._last_line_s, self._last_line = now_s, summary
            self._console.print(summary, markup=False, highlight=False)


def _clean(line: str) -> str:
    """Return a line as it may be printed: what a script says must not move the reader's cursor."""
    return "".join(
        letter if letter.isprintable() or letter == "\t" else "\N{REPLACEMENT CHARACTER}" for letter in line
    )


def describe_progress(content: ProgressNews) -> str:
    """Return done, given up, left and time left in words."""
    trials = content.trials
    planned = sum(trials.values())
    ended = sum(trials.get(state, 0) for state in _ENDED)
    text = content.state
    if planned:
        cancelled = f", {trials['cancelled']} cancelled" if trials.get("cancelled") else ""
        text += (
            f": {trials.get('counted', 0)} of {planned} trials counted "
            f"({trials.get('given_up', 0)} given up{cancelled}), {planned - ended} left"
        )
    debug = content.debug_trials
    if debug and (content.state in ("debugging", "held") or not planned):
        done = sum(debug.get(state, 0) for state in _ENDED)
        text += f", {done} of {sum(debug.values())} debug trials ended"
    if content.finish_s and planned > ended:
        text += f", about {format_duration(content.finish_s)} to go"
    return text


def _draw(content: ProgressNews, summary: str) -> Table:
    trials = content.trials
    ended = sum(trials.get(state, 0) for state in _ENDED)
    head = Table.grid(padding=(0, 1))
    head.add_row(ProgressBar(total=max(1, sum(trials.values())), completed=ended, width=30), summary)
    grid = Table.grid()
    grid.add_row(head)
    for name, states in list(content.workers.items())[:_MOST_WORKERS]:
        counts = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in states.items())
        grid.add_row(Text(f"  {name}: {counts}", style="dim", overflow="ellipsis", no_wrap=True))
    return grid
