"""`datamill submit`: from an experiment file to an experiment that a fleet runs."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from click.core import ParameterSource
from msgspec.structs import replace
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.text import Text

from datamill.cli.console import make_console, name_command
from datamill.cli.coordinator.coordinator_client import (
    ChangedPlanError,
    CoordinatorClient,
    MissingFilesError,
    connect,
)
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.json_answer import spell_answer
from datamill.conduct.question.design_size import MOST_UNCONFIRMED_TRIALS
from datamill.conduct.question.read_files import ExperimentFile, read_experiment_file
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_count
from datamill.experiment.messages.phrases import count_nouns, list_first
from datamill.experiment.quantities import format_duration
from datamill.packing.members import Packed, pack_members
from datamill.packing.packages import PackageFacts
from datamill.protocol.api.plans import AcceptedSubmission, SubmissionPlan
from datamill.protocol.api.submissions import (
    DebugPolicy,
    FileKind,
    RebootPolicy,
    SubmissionOptions,
    SubmissionRequest,
    SubmittedFile,
)

#: Whoever was asked did not want it.
EXIT_NOT_SUBMITTED = 1
#: Levels or workers that a line names.
_MOST_SHOWN = 8


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--reboot",
    type=click.Choice(["auto", "never", "block", "trial"]),
    help="When machines are rebooted [as the file says, else before each trial where they may be].",
)
@click.option(
    "--debug",
    type=click.Choice(["first", "only", "never"]),
    help="One trial of each package on each architecture before the design, instead of it, or not.",
)
@click.option("--redundancy", type=click.IntRange(0, 1000), metavar="K", help="Spare workers that stand by.")
@click.option("--public", is_flag=True, default=None, help="Show it to every user of the fleet.")
@click.option("--hold", is_flag=True, help="Wait for datamill release after the debug trials.")
@click.option(
    "--yes", is_flag=True, help="Submit without asking, however large it is. Needed without a terminal."
)
@click.option(
    "--again", is_flag=True, help="Submit it even if the same was submitted just now or is running."
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan and the number as JSON.")
@coordinator_options
def submit(
    file: Path,
    reboot: RebootPolicy | None,
    debug: DebugPolicy | None,
    redundancy: int | None,
    public: bool | None,
    hold: bool,
    yes: bool,
    again: bool,
    as_json: bool,
    url: str | None,
    key: str | None,
) -> None:
    """Run the experiment FILE on the fleet.

    FILE is an experiment file, or a folder with an experiment.toml. The plan is shown first: which workers
    and why, what they cover, how many trials, until when. Only files that the coordinator lacks are sent. A
    plan that changes before you have answered is shown again.

    Exit status: 0 when it was submitted, 1 when you answered no, 2 when it cannot be (with what is missing,
    and what excludes it), was not confirmed, or is the same as one that you submitted just before.
    """
    console = make_console(stderr=as_json)
    found = read_experiment_file(file)
    refuse_folders_of_here(found)
    options = SubmissionOptions(reboot, debug, redundancy, public, hold)
    with connect(url, key) as coordinator, tempfile.TemporaryDirectory(prefix="datamill-submit-") as folder:
        files, archives = pack_files(found, Path(folder))
        body = SubmissionRequest(found.text, files, found.path.name, options)
        with naming_file(found.path):
            preview = coordinator.post("/experiments/plan", SubmissionPlan, body)
        body = replace(body, options=replace(options, once=not again))
        submitted = None
        while submitted is None:
            print_plan(preview, console)
            for note in found.notes:
                console.print(Text(f"Note: {note}", style="dim"))
            if not yes:
                confirm(preview)
                body = replace(body, plan=preview.digest)
            try:
                with naming_file(found.path):
                    submitted = send(coordinator, body, preview.missing_files, archives, console)
            except ChangedPlanError as problem:
                console.print(Text(f"Not submitted: {problem.message}. It is now:", style="yellow"))
                preview = problem.plan
    if as_json:
        answer = f"Submitted as experiment {submitted.id}."
        click.echo(spell_answer(answer, submission=submitted, warnings=(*found.notes, *submitted.warnings)))
        return
    number = submitted.id
    console.print(Text(f"Submitted as experiment {number}.", style="green"))
    typed = click.get_current_context().get_parameter_source("url") is ParameterSource.COMMANDLINE
    console.print(f"{name_command()} watch {number}{f' --url {url}' if typed else ''}")


def refuse_folders_of_here(found: ExperimentFile) -> None:
    """Refuse commands that run in a folder of this machine, which the workers of a fleet do not have.

    Raises:
        InputError: with the package.
    """
    experiment = found.experiment
    for kind, packages in (("package", experiment.packages), ("load", experiment.loads)):
        for package in packages:
            if package.command is not None and package.command.directory:
                raise InputError(
                    f'{kind} "{package.name}" runs in {package.command.directory}, and that is on this '
                    "machine only",
                    where=f"{found.path}: [[{kind}]] directory",
                    remedy='Write directory = "" if the command needs no files of this machine; else make a '
                    "folder with them and a run.sh, and name that as path.",
                )


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Name the experiment file in refusals by its path, which the coordinator does not know.

    Raises:
        InputError: what the coordinator refused.
    """
    try:
        yield
    except InputError as problem:
        if not problem.where.startswith(path.name):
            raise
        where = str(path) + problem.where.removeprefix(path.name)
        raise problem.moved(where) from problem


def pack_files(found: ExperimentFile, folder: Path) -> tuple[tuple[SubmittedFile, ...], dict[str, Path]]:
    """Pack what an experiment brings; return what the coordinator is told of it, and archives by SHA-256."""
    archives: dict[str, Path] = {}

    def pack(path: Path, name: str) -> Packed:
        packed = pack_members(path, folder / f"{len(archives)}-{name}.tar.gz")
        archives[packed.sha256] = packed.archive
        return packed

    files: list[SubmittedFile] = []
    packages: tuple[tuple[FileKind, PackageFacts], ...] = (
        *(("package", facts) for facts in found.packages),
        *(("load", facts) for facts in found.loads),
    )
    for kind, facts in packages:
        packed = pack(facts.path, facts.name)
        files.append(
            SubmittedFile(
                name=facts.name,
                kind=kind,
                sha256=packed.sha256,
                bytes=packed.size_bytes,
                files=facts.files,
                has_setup=facts.has_setup,
                has_collect=facts.has_collect,
                has_profile=facts.has_profile,
            )
        )
    for factor in found.user_factors:
        packed = pack(factor.path, factor.name)
        files.append(
            SubmittedFile(factor.name, "factor", packed.sha256, packed.size_bytes, summary=factor.summary)
        )
    return tuple(files), archives


def confirm(preview: SubmissionPlan) -> None:
    """Ask whether to submit.

    Raises:
        InputError: when there is nobody to ask.
        SystemExit: when the answer is no.
    """
    if sys.stdin.isatty():
        if not click.confirm("Submit it?", default=True, err=True):
            click.echo("Nothing was submitted.", err=True)
            raise SystemExit(EXIT_NOT_SUBMITTED)
        return
    large = preview.trials > MOST_UNCONFIRMED_TRIALS
    raise InputError(
        f"nothing was submitted: {count_nouns(preview.trials, 'trial')} would run, and without a terminal "
        "nobody can be asked whether that is meant",
        remedy="Confirm with --yes."
        + (" Or name fewer levels, or lower a coverage or the replicates." if large else ""),
    )


def send(
    coordinator: CoordinatorClient,
    body: SubmissionRequest,
    missing: Sequence[str],
    archives: Mapping[str, Path],
    console: Console,
) -> AcceptedSubmission:
    """Upload what is missing and submit; return the coordinator's answer.

    Raises:
        InputError: when the coordinator refuses.
    """
    upload(coordinator, missing, archives, body.packages, console)
    # The same experiment may have another plan by now.
    meaning = replace(body, plan="")
    try:
        return coordinator.post_once("/experiments", AcceptedSubmission, body, meaning)
    except MissingFilesError as problem:
        # Its store was cleaned between the two questions.
        upload(coordinator, problem.missing, archives, body.packages, console)
        return coordinator.post_once("/experiments", AcceptedSubmission, body, meaning)


def upload(
    coordinator: CoordinatorClient,
    missing: Sequence[str],
    archives: Mapping[str, Path],
    files: Sequence[SubmittedFile],
    console: Console,
) -> None:
    """Upload archives, with a display of how far they are."""
    by_digest = {item.sha256: item for item in files}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        for digest in missing:
            item = by_digest[digest]
            task = progress.add_task(f"sending {item.name}", total=item.bytes)
            coordinator.upload(
                archives[digest],
                digest,
                kind=item.kind,
                name=item.name,
                tell=lambda done, task=task: progress.update(task, completed=done),  # type: ignore[misc]
            )


def print_plan(preview: SubmissionPlan, console: Console) -> None:
    """Print who takes part and why, what is covered, how large it is, and until when."""
    for line in describe_plan(preview):
        console.print(line)


def describe_plan(preview: SubmissionPlan) -> list[Text]:
    """Return the plan in lines."""
    workers = preview.workers
    lines = [Text(f"{preview.name}: {count_nouns(len(workers), 'worker')}", style="bold")]
    lines += [Text(f"  {worker.name}: {worker.why}") for worker in workers[:_MOST_SHOWN]]
    if len(workers) > _MOST_SHOWN:
        lines.append(Text(f"  … and {len(workers) - _MOST_SHOWN} more"))
    if preview.spares:
        lines.append(Text(f"stand by: {list_first(preview.spares, _MOST_SHOWN)}"))
    for name, levels in preview.coverage.items():
        chosen, of = levels.chosen, levels.of
        lines.append(
            Text(f"coverage of {name}: {len(chosen)} of {len(of)} ({list_first(chosen, _MOST_SHOWN)})")
        )
    for item in preview.ineligible[:_MOST_SHOWN]:
        lines.append(Text(f"not {item.name}: {item.reason}", style="dim"))
    if len(preview.ineligible) > _MOST_SHOWN:
        lines.append(Text(f"… and {len(preview.ineligible) - _MOST_SHOWN} more cannot", style="dim"))
    factors = [
        f"{len(factor.levels)} {factor.name} ({list_first(factor.levels, _MOST_SHOWN)})"
        for factor in preview.factors
        if not factor.treatment
    ]
    if factors:
        lines.append(Text(f"factors: {' x '.join(factors)}"))
    lines += [
        Text(f"not varied: {factor.name}, {factor.treatment}")
        for factor in preview.factors
        if factor.treatment and factor.name not in ("package", "machine")
    ]
    lines.append(
        Text(
            f"trials: {'at most ' if preview.growth else ''}{format_count(preview.trials)} "
            f"({count_nouns(preview.points, 'design point')} x "
            f"{count_nouns(preview.replicates, 'replicate')}){_spell_debugging(preview)}, "
            f"{_spell_reboots(preview.reboot)}"
        )
    )
    if preview.profiled:
        names = ", ".join(preview.profiled)
        lines.append(Text(f"profiled on each machine, before the trials of the same build: {names}"))
    if preview.growth:
        lines.append(Text(f"grows: {preview.growth}"))
    finish_s = preview.finish_s
    if preview.debug != "only":
        lines.append(
            Text(
                "estimated finish: "
                + (
                    f"in {'at most ' if preview.growth else ''}about {format_duration(finish_s)}"
                    if finish_s is not None
                    else "unknown, since these packages never ran on this fleet"
                )
            )
        )
    lines += [Text(f"Warning: {warning}", style="yellow") for warning in preview.warnings]
    return lines


def _spell_debugging(preview: SubmissionPlan) -> str:
    count = preview.debug_trials
    if preview.debug == "first":
        return f", after {count_nouns(count, 'debug trial')}"
    if preview.debug == "only":
        return f"; now only {count_nouns(count, 'debug trial')}"
    return ""


def _spell_reboots(reboot: str) -> str:
    return {
        "trial": "a reboot before each",
        "block": "a reboot before each block",
        "never": "no reboots",
    }.get(reboot, reboot)
