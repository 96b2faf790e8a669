"""`datamill run`: from an experiment file to an answer."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from datamill.cli.console import make_console, name_command, tell_waiting
from datamill.cli.experiment.progress import TrialProgress
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
from datamill.design.trials import build_design
from datamill.execution.here import (
    PendingTrial,
    clear_scratch,
    list_pending_trials,
    list_shared_builds,
    make_shared_builds,
    run_pending_trials,
)
from datamill.execution.host_lock import lock_host
from datamill.execution.seen_places import check_needed_folders, list_unseen_values
from datamill.execution.state_folder import check_state_folder
from datamill.execution.trial_times import list_trial_times, remember_trial_times
from datamill.execution.worker import WorkerProgram, find_worker, read_host_facts
from datamill.experiment.errors import InputError, QuestionError
from datamill.experiment.quantities import format_duration
from datamill.packing.packages import inspect_package
from datamill.packing.user_factors import read_user_factor
from datamill.results.bundles.bundle import Bundle, lock_bundle, open_bundle
from datamill.results.bundles.decisions import Decision
from datamill.results.judgement.failing_packages import StoppedPackage

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
    console = make_console()
    if dry_run:
        print_order(file, resume, after_screening, allow_trials)
        return
    binary = find_worker()
    with ExitStack() as locks:
        if resume is not None:
            if out is not None:
                raise click.UsageError("--out names a new bundle; it does not go with --resume")
            bundle = open_bundle(resume)
            check_resumable(bundle)
            check_packages(bundle)
            check_state_folder(factor.name for factor in bundle.design.factors)
            # The host first: where a killed command's worker still ends its trial, which holds the bundle
            # as well, that is known and waited for.
            host_lock = locks.enter_context(lock_host(tell=tell_waiting))
            bundle_lock = locks.enter_context(lock_bundle(bundle))
        else:
            found = ask_host(read_question(file, after_screening, console.print), binary)
            check_design_size(found, allow_trials)
            check_constraints(found.experiment.constraints, read_host_facts(binary), where=str(found.path))
            for note in list_fleet_notes(found.experiment):
                console.print(f"Note: {note}", style="dim", highlight=False, markup=False)
            for warning in list_unseen_values(found.experiment, found.packages, found.loads, binary):
                console.print(f"Warning: {warning}", style="yellow", highlight=False, markup=False)
            check_state_folder(choice.name for choice in found.experiment.choices)
            folder = out or Path(f"{found.experiment.name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}")
            check_needed_folders(found.experiment, binary, where=str(found.path), bundle=folder)
            # Before there is a bundle: one that was refused its host would only be in the way.
            host_lock = locks.enter_context(lock_host(tell=tell_waiting))
            bundle = make_bundle(found, folder)
            bundle_lock = locks.enter_context(lock_bundle(bundle))
        check_constraints(
            bundle.experiment.constraints,
            read_host_facts(binary),
            where=str(bundle.folder / "experiment.toml"),
        )
        worker = WorkerProgram(
            binary, (bundle.work / "scratch").absolute(), inherited=(bundle_lock, *host_lock)
        )
        status = 0
        try:
            if run_bundle(
                bundle,
                console,
                worker,
                retry_failed=retry_failed,
                repeat_doubtful=repeat_doubtful,
                keep_going=keep_going,
            ):
                status = EXIT_ATTENTION
        finally:
            # Whatever ended the experiment: what is amiss with the host is the last thing that is said.
            if print_unrestored(worker.restore_host(), console):
                status = EXIT_UNRESTORED
    raise SystemExit(status)


def run_bundle(
    bundle: Bundle,
    console: Console,
    worker: WorkerProgram,
    *,
    retry_failed: bool,
    repeat_doubtful: bool,
    keep_going: bool,
) -> bool:
    """Run whatever a bundle still lacks, write table and report, and print the answer.

    Returns:
        whether something needs attention.
    """
    # What a worker left that died with the command that called it; before the scratch space goes, where
    # some of what undoes it may be.
    print_unrestored(worker.restore_host(), console)
    clear_scratch(bundle)
    pending = list_pending_trials(bundle, bundle.read_records(), retry_failed=retry_failed)
    planned = len(bundle.list_needed_trials())
    most = "at most " if bundle.experiment.until is not None and pending else ""
    console.print(
        f"{bundle.experiment.name}: {most}{len(pending)} of {planned} trials to run, into {bundle.folder}/"
    )
    try:
        stopped = run_trials(
            bundle,
            pending,
            console,
            worker,
            keep_going=keep_going,
            decide=bundle.experiment.until is not None,
        )
        if repeat_doubtful:
            names = {package.package for package in stopped}
            doubtful = [
                item
                for item in list_pending_trials(bundle, bundle.read_records(), repeat_doubtful=True)
                if item.trial.package not in names
            ]
            console.print(f"{len(doubtful)} trials to repeat, since they may have been disturbed")
            run_trials(bundle, doubtful, console, worker, keep_going=keep_going)
    except QuestionError:
        console.print(f"Stopped. Correct the question and begin anew; {bundle.folder} can be removed.")
        raise
    except BaseException:
        command = f"{name_command()} run --resume {bundle.folder}"
        console.print(f"Stopped. What was measured is kept; continue with: {command}")
        raise
    ended = "All trials that are needed have ended"
    if stopped:
        ended = f"All trials have ended but those of {', '.join(package.package for package in stopped)}"
    console.print(f"{ended}; analysing …", highlight=False, markup=False)
    records = bundle.read_records()
    remember_trial_times(list_trial_times(records, bundle.design.trials))
    shutil.rmtree(bundle.work, ignore_errors=True)
    # Imported late: figures and statistics take a second to load, which a trial need not wait for.
    from datamill.cli.experiment.reporting import report_bundle

    return report_bundle(bundle, records, console)


def run_trials(
    bundle: Bundle,
    pending: list[PendingTrial],
    console: Console,
    worker: WorkerProgram,
    *,
    keep_going: bool,
    decide: bool = False,
) -> list[StoppedPackage]:
    """Run pending trials, after the builds that they share, with a display of how far they are.

    With `decide` they come in batches, each after its own builds, until a decision stops them. Returns
    packages that were stopped because their first trials failed alike.
    """
    planned = len(bundle.list_needed_trials())
    waiting = {item.trial.trial_id for item in pending}
    records = bundle.read_records()
    done = [record for record in records if record.trial_id not in waiting]
    completed = {record.trial_id for record in done if record.outcome == "completed"}
    failed = len({record.trial_id for record in done} - completed)
    before = planned - len(pending)
    stopped: list[StoppedPackage] = []

    def note_stop(package: StoppedPackage) -> None:
        stopped.append(package)
        print_stop(console, package)

    with TrialProgress(console, planned=planned, done=before, failed=failed, at_most=decide) as progress:

        def prepare(items: list[PendingTrial]) -> None:
            _make_builds(bundle, items, worker, progress, console)

        monitor = None
        trials: Iterable[PendingTrial] = pending
        if decide:
            # Imported late: statistics take a moment to load, which other experiments need not wait for.
            from datamill.conduct.batches import Monitor

            monitor = Monitor(bundle, records)
            decisions = bundle.read_decisions()
            _limit_time(progress, bundle, decisions[-1].elapsed_s if decisions else 0.0)

            def tell(decision: Decision) -> None:
                print_decision(console, decision)
                _limit_time(progress, bundle, decision.elapsed_s)

            trials = monitor.feed_trials(pending, prepare, tell)
        else:
            prepare(pending)
        progress.reset_clock()
        run = run_pending_trials(bundle, trials, worker, keep_going=keep_going, on_stop=note_stop)
        for item, record in run:
            if record is None:
                progress.start_trial(item.trial.package, item.trial.levels)
                continue
            progress.end_trial(completed=record.outcome == "completed")
            if monitor is not None:
                monitor.add_record(record)
    return stopped


def _limit_time(progress: TrialProgress, bundle: Bundle, elapsed_s: float) -> None:
    rule = bundle.experiment.until
    if rule is not None and rule.max_time_s:
        progress.limit_time(rule.max_time_s - elapsed_s)


def print_decision(console: Console, decision: Decision) -> None:
    """Say in one line what was decided after a batch."""
    text = f"stop: {decision.reason}" if decision.decision == "stop" else decision.reason
    console.print(f"look {decision.look}, {decision.trials} trials: {text}", markup=False, highlight=False)


def print_stop(console: Console, package: StoppedPackage) -> None:
    """Say at once that the other trials of a package are left out, why, and what to do."""
    text = (
        f"{package.sentence} Its other trials are left out (--keep-going runs them). Mend it and begin anew; "
        "--resume goes on with the package as it was."
    )
    console.print(Text(text, style="red"))


def print_unrestored(sentences: Sequence[str], console: Console) -> bool:
    """Say what of the host could not be put back as it was; tell whether there is anything."""
    if sentences:
        console.print(Text("This host is not as it was before:", style="bold red"))
        for sentence in sentences:
            console.print(Text(f"  {sentence}", style="red"))
        console.print(f"Put it right, then type {name_command()} worker restore.")
    return bool(sentences)


def _make_builds(
    bundle: Bundle,
    pending: list[PendingTrial],
    worker: WorkerProgram,
    progress: TrialProgress,
    console: Console,
) -> None:
    builds = list_shared_builds(bundle, pending)
    ended = 0
    started_s = time.monotonic()

    def show_build(item: PendingTrial, problem: str) -> None:
        nonlocal ended
        ended += 1
        left_s = (time.monotonic() - started_s) / ended * (len(builds) - ended)
        to_go = f", about {format_duration(left_s)} to go" if left_s else ""
        progress.show_stage(f"building: {ended} of {len(builds)}{to_go}")
        if problem:
            levels = "  ".join(f"{name}={level}" for name, level in item.trial.levels.items())
            console.print(f"build failed ({levels}): {problem}", markup=False)

    if builds:
        progress.show_stage(f"building: 0 of {len(builds)}")
        make_shared_builds(bundle, builds, worker, show_build)


def check_resumable(bundle: Bundle) -> None:
    """Refuse to continue here what a fleet runs: the machine is a factor of its design.

    Raises:
        InputError: when the bundle was fetched from a coordinator.
    """
    if bundle.of_fleet:
        raise InputError(
            "a fleet runs this experiment, and this bundle is a copy",
            where=str(bundle.folder),
            remedy="Fetch it again when there is more: datamill fetch. To repeat it on this machine: "
            f"{name_command()} run {bundle.folder}.",
        )


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
