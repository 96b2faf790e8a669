"""`datamill run`: from an experiment file to an answer."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console

from datamill.cli.bundle_making import make_bundle
from datamill.cli.console import make_console, name_command
from datamill.cli.experiment_files import check_constraints, check_design_size, read_experiment_file
from datamill.cli.progress import TrialProgress
from datamill.design.factorial import build_design
from datamill.execution.here import (
    PendingTrial,
    clear_scratch,
    list_pending_trials,
    list_shared_builds,
    make_shared_builds,
    run_pending_trials,
)
from datamill.execution.packages import inspect_package
from datamill.execution.trial_times import list_trial_times, remember_trial_times
from datamill.execution.worker import Worker, find_worker, read_host_facts
from datamill.experiment.errors import InputError, QuestionError
from datamill.results.bundle import Bundle, lock_bundle, open_bundle


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the new bundle [NAME-DATE-TIME]."
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Continue the interrupted experiment in DIR.",
)
@click.option("--retry-failed", is_flag=True, help="With --resume: attempt again what failed.")
@click.option("--keep-going", is_flag=True, help="Go on however many trials fail in a row.")
@click.option("--dry-run", is_flag=True, help="Print the order of trials and run nothing.")
@click.option("--allow-trials", type=int, default=0, metavar="N", help="Confirm a design of up to N trials.")
def run(
    file: Path | None,
    out: Path | None,
    resume: Path | None,
    retry_failed: bool,
    keep_going: bool,
    dry_run: bool,
    allow_trials: int,
) -> None:
    """Run the experiment FILE on this machine, one trial at a time, into a bundle.

    FILE is an experiment file, or a folder with an experiment.toml, such as an earlier bundle, whose
    experiment is then repeated. The new bundle is a folder that holds the experiment, its packages,
    every trial's record and artifacts, the tidy table and the report.

    Ctrl-C, a crash or a power cut loses at most the trial in flight: continue with --resume DIR.

    Exit status: 0 when every trial completed, 2 when something needs your attention, 130 when
    interrupted.
    """
    if file is None and resume is None:
        raise click.UsageError("name an experiment file, or a bundle to --resume")
    if file is not None and resume is not None:
        raise click.UsageError("name an experiment file or a bundle to --resume, not both")
    if retry_failed and resume is None:
        raise click.UsageError("--retry-failed goes with --resume")
    console = make_console()
    if dry_run:
        print_order(file, resume, allow_trials)
        return
    if resume is not None:
        if out is not None:
            raise click.UsageError("--out names a new bundle; it does not go with --resume")
        bundle = open_bundle(resume)
        check_packages(bundle)
    else:
        assert file is not None
        found = read_experiment_file(file)
        check_design_size(found, allow_trials)
        check_constraints(found.experiment.constraints, read_host_facts(find_worker()), where=str(found.path))
        folder = out or Path(f"{found.experiment.name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}")
        bundle = make_bundle(found, folder)
    run_bundle(bundle, console, retry_failed=retry_failed, keep_going=keep_going)


def run_bundle(bundle: Bundle, console: Console, *, retry_failed: bool, keep_going: bool) -> None:
    """Run whatever a bundle still lacks, then write table and report and print the answer."""
    binary = find_worker()
    with lock_bundle(bundle) as lock:
        check_constraints(
            bundle.experiment.constraints,
            read_host_facts(binary),
            where=str(bundle.folder / "experiment.toml"),
        )
        clear_scratch(bundle)
        records = bundle.read_records()
        pending = list_pending_trials(bundle, records, retry_failed=retry_failed)
        planned = len(bundle.design.trials)
        waiting = {item.trial.trial_id for item in pending}
        done = [record for record in records if record.trial_id not in waiting]
        failed = len(
            {record.trial_id for record in done} - {r.trial_id for r in done if r.outcome == "completed"}
        )
        worker = Worker(binary, (bundle.work / "scratch").absolute(), inherited=(lock,))
        console.print(
            f"{bundle.experiment.name}: {len(pending)} of {planned} trials to run, into {bundle.folder}/"
        )
        try:
            with TrialProgress(
                console, planned=planned, done=planned - len(pending), failed=failed
            ) as progress:
                _make_builds(bundle, pending, worker, progress, console)
                progress.reset_clock()
                for item, record in run_pending_trials(bundle, pending, worker, keep_going=keep_going):
                    if record is None:
                        progress.start_trial(item.trial.package, item.trial.levels)
                    else:
                        progress.end_trial(completed=record.outcome == "completed")
        except QuestionError:
            console.print(f"Stopped. Correct the question and begin anew; {bundle.folder} can be removed.")
            raise
        except BaseException:
            command = f"{name_command()} run --resume {bundle.folder}"
            console.print(f"Stopped. What was measured is kept; continue with: {command}")
            raise
        console.print("All trials have ended; analysing …")
        records = bundle.read_records()
        remember_trial_times(list_trial_times(records))
        shutil.rmtree(bundle.work, ignore_errors=True)
        # Imported late: figures and statistics take a second to load, which a trial need not wait for.
        from datamill.cli.reporting import report_bundle

        needs_attention = report_bundle(bundle, records, console)
    if needs_attention:
        raise SystemExit(2)


def _make_builds(
    bundle: Bundle, pending: list[PendingTrial], worker: Worker, progress: TrialProgress, console: Console
) -> None:
    builds = list_shared_builds(bundle, pending)
    ended = 0

    def show_build(item: PendingTrial, problem: str) -> None:
        nonlocal ended
        ended += 1
        progress.show_stage(f"building: {ended} of {len(builds)}")
        if problem:
            levels = "  ".join(f"{name}={level}" for name, level in item.trial.levels.items())
            console.print(f"build failed ({levels}): {problem}", markup=False)

    if builds:
        progress.show_stage(f"building: 0 of {len(builds)}")
        make_shared_builds(bundle, builds, worker, show_build)


def check_packages(bundle: Bundle) -> None:
    """Refuse to go on with packages that changed inside the bundle.

    Raises:
        InputError: when a package is missing or unsound.
    """
    for package in bundle.head.packages:
        inspect_package(package.name, bundle.folder / package.file, bundle.experiment.limits)


def print_order(file: Path | None, resume: Path | None, allow_trials: int) -> None:
    """Print the trials that would run, in order, tab-separated.

    Raises:
        InputError: when the experiment or the bundle cannot be used.
    """
    if resume is not None:
        bundle = open_bundle(resume)
        design = bundle.design
        records = bundle.read_records()
        trials = [item.trial for item in list_pending_trials(bundle, records)]
    elif file is not None:
        found = read_experiment_file(file)
        check_design_size(found, allow_trials)
        design = build_design(found.experiment)
        trials = list(design.trials)
    else:
        raise InputError("nothing to print")
    names = [factor.name for factor in design.factors]
    click.echo("\t".join(["order", "trial", "replicate", *names]))
    for trial in trials:
        levels = (trial.levels[name] for name in names)
        click.echo("\t".join([str(trial.order), trial.trial_id, str(trial.replicate), *levels]))
