"""`datamill check`: is the experiment sound, and what would run?"""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console

from datamill.cli.console import name_command, tell_waiting
from datamill.cli.experiment.design_text import describe_design
from datamill.conduct.doubts import list_doubts, list_lost_factors
from datamill.conduct.needed_metrics import list_unchecked_metrics
from datamill.conduct.pilot import estimate_trial_time, run_pilot
from datamill.conduct.read_files import (
    ask_host,
    check_constraints,
    check_design_size,
    list_fleet_notes,
    read_experiment_file,
    size_design,
)
from datamill.execution.host_lock import lock_host
from datamill.execution.seen_places import list_unseen_values
from datamill.execution.worker import find_worker, read_host_facts
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
    binary = find_worker()
    read = read_experiment_file(file)
    found = ask_host(read, binary)
    check_design_size(found, allow_trials)
    experiment = found.experiment
    host = read_host_facts(binary)
    if pilot:
        check_constraints(experiment.constraints, host, where=str(found.path))
        with lock_host(tell=tell_waiting) as lock:
            run_pilot(found, binary, lock, _PilotDisplay(console))
    factors, trials = size_design(found)
    console.print(describe_design(found, factors, trials, estimate_trial_time(found)))
    notes = [
        *found.notes,
        *list_fleet_notes(experiment),
        *([] if pilot else list_unchecked_metrics(experiment, _SHOWN_BY)),
    ]
    for note in notes:
        console.print(f"Note: {note}", style="dim", highlight=False, markup=False)
    unbuilt = [package.name for package in found.packages if not package.has_setup]
    doubts = (
        *list_lost_factors(read, found),
        *list_doubts(experiment, factors, trials, unbuilt),
        *list_unseen_values(experiment, found.packages, found.loads, binary),
    )
    for warning in doubts:
        console.print(f"Warning: {warning}", style="yellow", highlight=False, markup=False)
    check_constraints(experiment.constraints, host, where=str(found.path))
    console.print(f"[green]{found.path} is sound.[/green]  {name_command()} run {file}", highlight=False)


class _PilotDisplay:
    """What people see of a pilot."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def begin_trial(self, package: str) -> None:
        """Name the package whose trial begins."""
        self._console.print(f"pilot trial of {package} …", highlight=False)

    def complete_trial(self, package: str, run_time_ns: int) -> None:
        """Say how long it took; the package was named when the trial began."""
        del package
        self._console.print(
            f"  completed, run.sh took {format_figures(run_time_ns / 1e9)} s", highlight=False
        )
