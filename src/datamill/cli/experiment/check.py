"""`datamill check`: is the experiment sound, and what would run?"""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console

from datamill.cli.console import name_command, tell_waiting
from datamill.cli.experiment.design_text import describe_design
from datamill.conduct.check_experiment import check_experiment
from datamill.experiment.messages.numbers import format_figures

#: What shows whether packages report the metrics that formulas need.
_SHOWN_BY = "check --pilot, or the first trial of run, shows"


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--pilot", is_flag=True, help="Run one trial of each package, to see that it works and how long it takes."
)
@click.option("--allow-trials", type=int, default=0, metavar="N", help="Confirm a design of up to N trials.")
def check(file: Path, pilot: bool, allow_trials: int) -> None:
    """Validate the experiment FILE and its packages, and show the design.

    FILE is an experiment file, or a folder with an experiment.toml. Nothing runs, except with
    --pilot. The estimated time comes from earlier trials of the same packages on this machine.
    """
    console = Console(width=max(80, min(Console().width, 120)) if sys.stdout.isatty() else 120)
    checked = check_experiment(
        file, pilot=_PilotDisplay(console) if pilot else None, allow_trials=allow_trials, shown_by=_SHOWN_BY
    )
    console.print(describe_design(checked))
    for note in checked.notes:
        console.print(f"Note: {note}", style="dim", highlight=False, markup=False)
    for warning in checked.doubts:
        console.print(f"Warning: {warning}", style="yellow", highlight=False, markup=False)
    if checked.refusal is not None:
        raise checked.refusal
    path = checked.file.path
    console.print(f"[green]{path} is sound.[/green]  {name_command()} run {file}", highlight=False)


class _PilotDisplay:
    """What people see of a pilot."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def tell_waiting(self, sentence: str) -> None:
        """Say what is waited for."""
        tell_waiting(sentence)

    def begin_trial(self, package: str) -> None:
        """Name the package whose trial begins."""
        self._console.print(f"pilot trial of {package} …", highlight=False)

    def complete_trial(self, package: str, run_time_ns: int) -> None:
        """Say how long it took; the package was named when the trial began."""
        del package
        self._console.print(
            f"  completed, run.sh took {format_figures(run_time_ns / 1e9)} s", highlight=False
        )
