"""`datamill check`: is the experiment sound, and what would run?"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console

from datamill.cli.console import name_command, tell_waiting
from datamill.cli.experiment.design_text import describe_design
from datamill.conduct.doubts import list_doubts, list_lost_factors
from datamill.conduct.make_bundle import make_bundle
from datamill.conduct.needed_metrics import list_unchecked_metrics
from datamill.conduct.read_files import (
    ExperimentFile,
    ask_host,
    check_constraints,
    check_design_size,
    list_fleet_notes,
    read_experiment_file,
    size_design,
)
from datamill.execution.here import PendingTrial, clear_scratch, list_pending_trials, run_pending_trials
from datamill.execution.host_lock import lock_host
from datamill.execution.seen_places import list_unseen_values
from datamill.execution.trial_times import (
    TrialTime,
    find_trial_time,
    list_trial_times,
    read_trial_times,
    remember_trial_times,
)
from datamill.execution.worker import WorkerProgram, find_worker, read_host_facts
from datamill.experiment.errors import InputError
from datamill.packing.packages import pack_package

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
            run_pilot(found, binary, console, lock)
    factors, trials = size_design(found)
    console.print(describe_design(found, factors, trials, estimate_trial_time(found)))
    notes = [*list_fleet_notes(experiment), *([] if pilot else list_unchecked_metrics(experiment, _SHOWN_BY))]
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


def run_pilot(file: ExperimentFile, binary: Path, console: Console, lock: tuple[int, ...]) -> None:
    """Run the first planned trial of each package in a bundle of its own and remember how long it took.

    The bundle is thrown away, unless a trial failed: what it printed may say why. `lock` is the host's.

    Raises:
        InputError: when a trial does not complete, or lacks a name that a response needs.
    """
    folder = Path(tempfile.mkdtemp(prefix="datamill-pilot-"))
    bundle = make_bundle(file, folder / "bundle")
    clear_scratch(bundle)
    first: dict[str, PendingTrial] = {}
    for item in list_pending_trials(bundle, []):
        if item.trial.purpose == "question":
            first.setdefault(item.trial.package, item)
    worker = WorkerProgram(binary, bundle.work / "scratch", inherited=lock)
    unrestored = worker.restore_host()
    failures = [f"the host is not as it was before: {sentence}" for sentence in unrestored]
    for item, record in run_pending_trials(bundle, list(first.values()), worker):
        if record is None:
            console.print(f"pilot trial of {item.trial.package} …", highlight=False)
        elif record.failure is not None:
            failures.append(f"package {item.trial.package}: {record.failure.message}")
            failures += record.unrestored
        elif record.run is not None:
            console.print(f"  completed, run.sh took {record.run.wall_time_ns / 1e9:.3g} s", highlight=False)
    if failures:
        raise InputError(
            "\n".join(failures), where="pilot", remedy=f"What the scripts printed is in {bundle.artifacts}."
        )
    remember_trial_times(list_trial_times(bundle.read_records(), bundle.design.trials))
    shutil.rmtree(folder, ignore_errors=True)


def estimate_trial_time(file: ExperimentFile) -> TrialTime | None:
    """Return the mean time of a trial over the experiment's packages, None when one was never timed here."""
    known = read_trial_times()
    nested = file.experiment.replication
    measurements = 0 if nested is None else nested.measurements + nested.warmup
    times = []
    for facts in file.packages:
        with tempfile.TemporaryDirectory(prefix="datamill-check-") as folder:
            packed = pack_package(facts, Path(folder) / "package.tar.gz")
        found = find_trial_time(known, packed.sha256, measurements)
        if found is None:
            return None
        times.append(found)
    seconds = sum(time.seconds for time in times) / len(times)
    return TrialTime(seconds, all(time.alike for time in times))
