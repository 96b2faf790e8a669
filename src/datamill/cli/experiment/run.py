"""`datamill run`: from an experiment file to an answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from datamill.cli.console import make_console
from datamill.cli.experiment.run_display import RunDisplay
from datamill.conduct.conduct_experiment import (
    NewRun,
    TrialOrder,
    conduct_experiment,
    list_trial_order,
)
from datamill.conduct.running.both_parts import ResumedRun
from datamill.results.crates.reading import open_bundle_folder

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
    experiment is then repeated, or an RO-Crate of one (datamill export --rocrate). The new bundle is a
    folder that holds the experiment, its packages, every trial's record and artifacts, the tidy table and
    the report.

    Ctrl-C, a crash or a power cut loses at most the trial in flight: continue with --resume DIR.

    Exit status: 0 when every trial completed, 1 when a setting of this host could not be put back as it
    was, 2 when something else needs your attention, 130 when interrupted.
    """
    check_options(file, out, resume, after_screening, retry_failed)
    with ExitStack() as crates:
        # A crate is unpacked for as long as its experiment runs.
        file = None if file is None else crates.enter_context(open_bundle_folder(file))
        asked = (
            NewRun(file, after_screening, out, allow_trials)
            if resume is None
            else ResumedRun(resume, retry_failed=retry_failed)
        )
        _conduct(asked, dry_run=dry_run, repeat_doubtful=repeat_doubtful, keep_going=keep_going)


def _conduct(asked: NewRun | ResumedRun, *, dry_run: bool, repeat_doubtful: bool, keep_going: bool) -> None:
    if dry_run:
        # What was decided goes to the side: the list of trials may be read by a program.
        print_order(list_trial_order(asked, tell_aside))
        return
    display = RunDisplay(make_console())
    ended = conduct_experiment(asked, display, repeat_doubtful=repeat_doubtful, keep_going=keep_going)
    if ended.unrestored:
        raise SystemExit(EXIT_UNRESTORED)
    raise SystemExit(EXIT_ATTENTION if ended.report.problems else 0)


def check_options(
    file: Path | None,
    out: Path | None,
    resume: Path | None,
    after_screening: Path | None,
    retry_failed: bool,
) -> None:
    """Refuse options that do not go together.

    Raises:
        UsageError: with those options.
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


def tell_aside(lines: Sequence[str]) -> None:
    """Print lines on standard error."""
    for line in lines:
        click.echo(line, err=True)


def print_order(order: TrialOrder) -> None:
    """Print trials in their order, tab-separated."""
    names = [factor.name for factor in order.factors]
    click.echo("\t".join(["order", "trial", "replicate", *names]))
    for trial in order.trials:
        levels = (trial.levels[name] for name in names)
        click.echo("\t".join([str(trial.order), trial.trial_id, str(trial.replicate), *levels]))
