"""`datamill check`: is the experiment sound, and what would run?"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from datamill.cli.console import name_command, tell_waiting
from datamill.cli.experiment.design.design_text import describe_design
from datamill.cli.json_answer import spell_answer
from datamill.conduct.check_experiment import CheckedExperiment, check_experiment
from datamill.design.design import DesignFactor
from datamill.experiment.messages.numbers import format_figures

#: What shows whether packages report the metrics that formulas need.
_SHOWN_BY = "check --pilot, or the first trial of run, shows"


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--pilot", is_flag=True, help="Run one trial of each package, to see that it works and how long it takes."
)
@click.option("--allow-trials", type=int, default=0, metavar="N", help="Confirm a design of up to N trials.")
@click.option("--json", "as_json", is_flag=True, help="Print the design as JSON.")
def check(file: Path, pilot: bool, allow_trials: int, as_json: bool) -> None:
    """Validate the experiment FILE and its packages, and show the design.

    FILE is an experiment file, or a folder with an experiment.toml. Nothing runs, except with
    --pilot. The estimated time comes from earlier trials of the same packages on this machine.
    """
    width = max(80, min(Console().width, 120)) if sys.stdout.isatty() else 120
    console = Console(width=width, stderr=as_json)
    display = _PilotDisplay(console)
    checked = check_experiment(
        file, pilot=display if pilot else None, allow_trials=allow_trials, shown_by=_SHOWN_BY
    )
    path = checked.file.path
    if as_json:
        if checked.refusal is not None:
            raise checked.refusal
        design = _list_design(checked, display.times_s)
        click.echo(spell_answer(f"{path} is sound.", design=design, warnings=checked.doubts))
        return
    console.print(describe_design(checked))
    for note in checked.notes:
        console.print(f"Note: {note}", style="dim", highlight=False, markup=False)
    for warning in checked.doubts:
        console.print(f"Warning: {warning}", style="yellow", highlight=False, markup=False)
    if checked.refusal is not None:
        raise checked.refusal
    console.print(f"[green]{path} is sound.[/green]  {name_command()} run {file}", highlight=False)


@dataclass(frozen=True, slots=True)
class _CheckedDesign:
    """What would run, as JSON has it.

    `trials` is a bound where a sequential experiment may end early. Times are seconds: `trial_time_s` is the
    mean of earlier trials of these packages, null when there were none; `pilot_time_s` is what `run.sh` of
    each package took in the pilot.
    """

    file: str
    experiment: str
    question: str
    kind: str
    factors: tuple[DesignFactor, ...]
    points: int
    trials: int
    may_end_early: bool
    trial_time_s: float | None
    pilot_time_s: dict[str, float]
    notes: tuple[str, ...]


def _list_design(checked: CheckedExperiment, pilot_time_s: dict[str, float]) -> _CheckedDesign:
    experiment = checked.file.experiment
    return _CheckedDesign(
        file=str(checked.file.path),
        experiment=experiment.name,
        question=experiment.question,
        kind=experiment.design.kind,
        factors=checked.size.factors,
        points=checked.size.points,
        trials=checked.size.trials,
        may_end_early=experiment.until is not None,
        trial_time_s=None if checked.time is None else checked.time.trial.seconds,
        pilot_time_s=pilot_time_s,
        notes=checked.notes,
    )


class _PilotDisplay:
    """What people see of a pilot."""

    def __init__(self, console: Console) -> None:
        self._console = console
        #: Seconds that `run.sh` of each package took.
        self.times_s: dict[str, float] = {}

    def tell_waiting(self, sentence: str) -> None:
        """Say what is waited for."""
        tell_waiting(sentence)

    def begin_trial(self, package: str) -> None:
        """Name the package whose trial begins."""
        self._console.print(f"pilot trial of {package} …", highlight=False)

    def complete_trial(self, package: str, run_time_ns: int) -> None:
        """Say how long it took; the package was named when the trial began."""
        self.times_s[package] = run_time_ns / 1e9
        self._console.print(
            f"  completed, run.sh took {format_figures(run_time_ns / 1e9)} s", highlight=False
        )
