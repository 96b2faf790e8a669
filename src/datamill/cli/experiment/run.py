"""`datamill run`: from an experiment file to an answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from datamill.cli.console import make_console, name_command, tell_waiting
from datamill.cli.experiment.run_display import RunDisplay, print_unrestored
from datamill.conduct.follow_up import read_follow_up
from datamill.conduct.make_bundle import make_bundle
from datamill.conduct.read_files import (
    ExperimentFile,
    ask_host,
    check_constraints,
    check_design_size,
    list_fleet_notes,
    read_experiment_file,
)
from datamill.conduct.run_bundle import BundleRun, run_bundle
from datamill.design.trials import build_design
from datamill.execution.here import list_pending_trials
from datamill.execution.host_lock import lock_host
from datamill.execution.seen_places import check_needed_folders, list_unseen_values
from datamill.execution.state_folder import check_state_folder
from datamill.execution.worker import WorkerProgram, find_worker, read_host_facts
from datamill.experiment.errors import InputError, QuestionError
from datamill.packing.packages import inspect_package
from datamill.packing.user_factors import read_user_factor
from datamill.protocol.trial import HostFacts
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.opening import lock_bundle, open_bundle

#: Something of the host is not as it was before.
EXIT_UNRESTORED = 1
EXIT_ATTENTION = 2


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
@click.option(
    "--after-screening",
    type=click.Path(path_type=Path),
    metavar="BUNDLE",
    help="Run all combinations of the factors that survived the screening in BUNDLE, with the others fixed.",
)
@click.option("--retry-failed", is_flag=True, help="With --resume: attempt again what failed.")
@click.option(
    "--repeat-doubtful", is_flag=True, help="At the end, repeat trials that may have been disturbed."
)
@click.option(
    "--keep-going", is_flag=True, help="Go on however many trials fail in a row, or all trials of a package."
)
@click.option("--dry-run", is_flag=True, help="Print the order of trials and run nothing.")
@click.option("--allow-trials", type=int, default=0, metavar="N", help="Confirm a design of up to N trials.")
def run(
    file: Path | None,
    out: Path | None,
    resume: Path | None,
    after_screening: Path | None,
    retry_failed: bool,
    repeat_doubtful: bool,
    keep_going: bool,
    dry_run: bool,
    allow_trials: int,
) -> None:
    """Run the experiment FILE on this machine, one trial at a time, into a bundle.

    FILE is an experiment file, or a folder with an experiment.toml, such as an earlier bundle, whose
    experiment is then repeated. The new bundle is a folder that holds the experiment, its packages,
    every trial's record and artifacts, the tidy table and the report.

    Ctrl-C, a crash or a power cut loses at most the trial in flight: continue with --resume DIR.

    Exit status: 0 when every trial completed, 1 when a setting of this host could not be put back as it
    was, 2 when something else needs your attention, 130 when interrupted.
    """
    if file is None and resume is None and after_screening is None:
        raise click.UsageError("name an experiment file, or a bundle to --resume")
    if after_screening is not None and resume is not None:
        raise click.UsageError("--after-screening makes a new bundle; it does not go with --resume")
    if file is not None and resume is not None:
        raise click.UsageError("name an experiment file or a bundle to --resume, not both")
    if retry_failed and resume is None:
        raise click.UsageError("--retry-failed goes with --resume")
    if resume is not None and out is not None:
        raise click.UsageError("--out names a new bundle; it does not go with --resume")
    if dry_run:
        print_order(file, resume, after_screening, allow_trials)
        return
    console = make_console()
    binary = find_worker()
    host = read_host_facts(binary)
    with ExitStack() as locks:
        if resume is not None:
            bundle = open_resumable(resume, host)
            # The host first: where a killed command's worker still ends its trial, which holds the bundle
            # as well, that is known and waited for.
            host_lock = locks.enter_context(lock_host(tell=tell_waiting))
        else:
            found = ask_host(read_question(file, after_screening, console.print), binary)
            check_design_size(found, allow_trials)
            check_constraints(found.experiment.constraints, host, where=str(found.path))
            folder = out or Path(f"{found.experiment.name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}")
            prepare_question(found, folder, binary, console)
            # Before there is a bundle: one that was refused its host would only be in the way.
            host_lock = locks.enter_context(lock_host(tell=tell_waiting))
            bundle = make_bundle(found, folder)
        bundle_lock = locks.enter_context(lock_bundle(bundle))
        scratch = (bundle.work / "scratch").absolute()
        worker = WorkerProgram(binary, scratch, inherited=(bundle_lock, *host_lock))
        status = 0
        try:
            ended = run_told(bundle, console, worker, retry_failed, repeat_doubtful, keep_going)
            # Imported late: figures and statistics take a second to load, which a trial need not wait for.
            from datamill.cli.experiment.reporting import report_bundle

            if report_bundle(bundle, ended.records, console):
                status = EXIT_ATTENTION
        finally:
            # Whatever ended the experiment: what is amiss with the host is the last thing that is said.
            if print_unrestored(worker.restore_host(), console):
                status = EXIT_UNRESTORED
    raise SystemExit(status)


def prepare_question(found: ExperimentFile, folder: Path, binary: Path, console: Console) -> None:
    """Say what of a question is not followed or was never seen here, and make sure that it can run.

    Raises:
        InputError: when a folder that is needed is not there, or not as it must be.
    """
    for note in (*found.notes, *list_fleet_notes(found.experiment)):
        console.print(f"Note: {note}", style="dim", highlight=False, markup=False)
    for warning in list_unseen_values(found.experiment, found.packages, found.loads, binary):
        console.print(f"Warning: {warning}", style="yellow", highlight=False, markup=False)
    check_state_folder(choice.name for choice in found.experiment.choices)
    check_needed_folders(found.experiment, binary, where=str(found.path), bundle=folder)


def run_told(
    bundle: Bundle,
    console: Console,
    worker: WorkerProgram,
    retry_failed: bool,
    repeat_doubtful: bool,
    keep_going: bool,
) -> BundleRun:
    """Run what a bundle lacks, and say how to go on when something ends it early."""
    try:
        ended = run_bundle(
            bundle,
            worker,
            RunDisplay(console, bundle),
            retry_failed=retry_failed,
            repeat_doubtful=repeat_doubtful,
            keep_going=keep_going,
        )
    except QuestionError:
        console.print(f"Stopped. Correct the question and begin anew; {bundle.folder} can be removed.")
        raise
    except BaseException:
        command = f"{name_command()} run --resume {bundle.folder}"
        console.print(f"Stopped. What was measured is kept; continue with: {command}")
        raise
    told = "All trials that are needed have ended"
    if ended.stopped:
        told = f"All trials have ended but those of {', '.join(item.package for item in ended.stopped)}"
    console.print(f"{told}; analysing …", highlight=False, markup=False)
    return ended


def open_resumable(folder: Path, host: HostFacts) -> Bundle:
    """Open a bundle that can go on here; a fleet's cannot: the machine is a factor of its design.

    Raises:
        InputError: when the bundle was fetched from a coordinator, is unsound, or may not run on this host.
    """
    bundle = open_bundle(folder)
    if bundle.of_fleet:
        raise InputError(
            "a fleet runs this experiment, and this bundle is a copy",
            where=str(bundle.folder),
            remedy="Fetch it again when there is more: datamill fetch. To repeat it on this machine: "
            f"{name_command()} run {bundle.folder}.",
        )
    check_packages(bundle)
    check_state_folder(factor.name for factor in bundle.design.factors)
    where = str(bundle.folder / "experiment.toml")
    check_constraints(bundle.experiment.constraints, host, where=where)
    return bundle


def check_packages(bundle: Bundle) -> None:
    """Refuse to go on with packages, loads or factors that changed inside the bundle.

    Raises:
        InputError: when one is missing or unsound.
    """
    for factor in bundle.head.factors:
        read_user_factor(bundle.folder / factor.file)
    for package in (*bundle.head.packages, *bundle.head.loads):
        inspect_package(package.name, bundle.folder / package.file, bundle.experiment.limits)


def read_question(
    file: Path | None, after_screening: Path | None, say: Callable[[Text], None]
) -> ExperimentFile:
    """Read the experiment file, or make the experiment that follows a screening and say what was decided.

    Raises:
        InputError: when the file or the screening cannot be used.
    """
    if after_screening is None:
        assert file is not None
        return read_experiment_file(file)
    found, decisions = read_follow_up(after_screening, file)
    for line in decisions:
        say(Text(line))
    return found


def print_order(
    file: Path | None, resume: Path | None, after_screening: Path | None, allow_trials: int
) -> None:
    """Print the trials that would run, in order, tab-separated.

    Raises:
        InputError: when the experiment or the bundle cannot be used.
    """
    if resume is not None:
        bundle = open_bundle(resume)
        design = bundle.design
        records = bundle.read_records()
        trials = [item.trial for item in list_pending_trials(bundle, records)]
    elif file is not None or after_screening is not None:
        # What was decided goes to the side: the list of trials may be read by a program.
        question = read_question(file, after_screening, lambda line: click.echo(line.plain, err=True))
        found = ask_host(question, find_worker())
        check_design_size(found, allow_trials)
        design = build_design(found.experiment, found.offers)
        trials = list(design.trials)
    else:
        raise InputError("nothing to print")
    names = [factor.name for factor in design.factors]
    click.echo("\t".join(["order", "trial", "replicate", *names]))
    for trial in trials:
        levels = (trial.levels[name] for name in names)
        click.echo("\t".join([str(trial.order), trial.trial_id, str(trial.replicate), *levels]))
