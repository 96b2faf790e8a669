"""`datamill check`: is the experiment sound, and what would run?"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
from rich.console import Console

from datamill.cli.bundle_making import make_bundle
from datamill.cli.design_text import describe_design
from datamill.cli.experiment_files import (
    ExperimentFile,
    check_constraints,
    check_design_size,
    read_experiment_file,
)
from datamill.design.factorial import choose_factors, count_trials
from datamill.execution.here import PendingTrial, clear_scratch, list_pending_trials, run_pending_trials
from datamill.execution.packages import pack_package
from datamill.execution.trial_times import list_trial_times, read_trial_times, remember_trial_times
from datamill.execution.worker import Worker, find_worker, read_host_facts


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
    console = Console(width=max(80, min(Console().width, 120)))
    found = read_experiment_file(file)
    check_design_size(found, allow_trials)
    experiment = found.experiment
    binary = find_worker()
    check_constraints(experiment.constraints, read_host_facts(binary), where=str(found.path))
    if pilot:
        run_pilot(found, binary, console)
    trial_s = estimate_trial_time(found)
    console.print(
        describe_design(
            experiment, choose_factors(experiment), found.packages, count_trials(experiment), trial_s
        )
    )
    console.print(f"[green]{found.path} is sound.[/green]  datamill run {file}", highlight=False)


def run_pilot(file: ExperimentFile, binary: Path, console: Console) -> None:
    """Run the first planned trial of each package in a throw-away bundle and remember how long it took.

    Raises:
        InputError: when a trial does not complete, or lacks a name that a response needs.
    """
    with tempfile.TemporaryDirectory(prefix="datamill-pilot-") as folder:
        bundle = make_bundle(file, Path(folder) / "bundle")
        clear_scratch(bundle)
        first: dict[str, PendingTrial] = {}
        for item in list_pending_trials(bundle, []):
            first.setdefault(item.trial.package, item)
        worker = Worker(binary, bundle.work / "scratch")
        failed = None
        for item, record in run_pending_trials(bundle, list(first.values()), worker):
            if record is None:
                console.print(f"pilot trial of {item.trial.package} …", highlight=False)
            elif record.failure is not None:
                failed = record
                console.print(f"  {record.failure.message}\n  {record.failure.remedy}", highlight=False)
            elif record.run is not None:
                console.print(
                    f"  completed, run.sh took {record.run.wall_time_ns / 1e9:.3g} s", highlight=False
                )
        remember_trial_times(list_trial_times(bundle.read_records()))
    if failed is not None:
        raise click.ClickException("a pilot trial failed; see above")


def estimate_trial_time(file: ExperimentFile) -> float | None:
    """Return the mean time of a trial over the experiment's packages, None when one was never timed here."""
    known = read_trial_times()
    times = []
    for facts in file.packages:
        with tempfile.TemporaryDirectory(prefix="datamill-check-") as folder:
            packed = pack_package(facts, Path(folder) / "package.tar.gz")
        if packed.sha256 not in known:
            return None
        times.append(known[packed.sha256])
    return sum(times) / len(times)
