"""`datamill time`: which of these commands is faster?"""

from __future__ import annotations

import os
import secrets
from datetime import datetime
from pathlib import Path

import click

from datamill.cli.timing.tell_timing import Exports, tell_timing
from datamill.cli.timing.time_options import (
    choose_output,
    choose_response,
    parse_scans,
    parse_seconds,
    parse_statuses,
    read_revisions,
)
from datamill.conduct.timing.question import TimingQuestion
from datamill.execution.state_folder import find_state_folder
from datamill.experiment.command_lines import read_commands
from datamill.experiment.errors import InputError
from datamill.experiment.quantities import parse_share

EXIT_SLOWER = 1
#: What users of other tools type behind `--shell`.
_SHELLS = ("bash", "sh", "zsh", "dash", "fish", "none", "default")


@click.command(context_settings={"max_content_width": 100})
@click.argument("commands", nargs=-1, metavar="COMMAND...")
@click.option(
    "--name", "-n", "labels", multiple=True, metavar="NAME", help="What to call a command; in order."
)
@click.option(
    "--git",
    "revisions",
    is_flag=False,
    flag_value="",
    metavar="BASE..HEAD",
    help="Time one command in two revisions [HEAD and what is not committed].",
)
@click.option("--build", metavar="CMD", help="With --git: builds a revision; run again for other layouts.")
@click.option("--series", is_flag=True, help="With --git: every commit from BASE to HEAD.")
@click.option(
    "--within", metavar="DURATION", help="Time for all of it, such as 30s or 5min [30s, and 6 executions]."
)
@click.option("--precision", default="1%", metavar="SHARE", help="Difference that does not matter [1%].")
@click.option(
    "--runs", "-r", type=click.IntRange(2, 1000), metavar="N", help="Executions of each at most [1000]."
)
@click.option(
    "--warmup",
    "-w",
    type=click.IntRange(0, 1000),
    metavar="N",
    help="Executions of each that do not count [found].",
)
@click.option(
    "--prepare", "-p", multiple=True, metavar="CMD", help="Run before each execution, not measured."
)
@click.option("--conclude", multiple=True, metavar="CMD", help="Run after each execution, not measured.")
@click.option(
    "--setup", "-s", multiple=True, metavar="CMD", help="Run once for each command, before all others."
)
@click.option("--cleanup", "-c", metavar="CMD", help="Run once at the end.")
@click.option(
    "--parameter-scan",
    "-P",
    "scans",
    nargs=3,
    multiple=True,
    metavar="NAME LOW HIGH",
    help="Time the commands for each value of {NAME}.",
)
@click.option("--parameter-step-size", "-D", "step", default="1", metavar="STEP", help="Steps of a scan [1].")
@click.option(
    "--parameter-list",
    "-L",
    "lists",
    nargs=2,
    multiple=True,
    metavar="NAME A,B,...",
    help="Time the commands for each of these values of {NAME}.",
)
@click.option(
    "--shell/--no-shell", "-S/-N", default=None, help="Run commands through /bin/sh [where one needs it]."
)
@click.option("--input", "input_file", metavar="FILE", help="Standard input of the commands [empty].")
@click.option(
    "--output",
    metavar="WHERE",
    default="capture",
    help="Standard output: capture, null, inherit or a FILE [capture].",
)
@click.option("--ignore-failure", "-i", is_flag=True, help="Count executions whatever their exit status.")
@click.option("--allow-status", metavar="N,...", help="Exit statuses that are not failures [0].")
@click.option("--timeout", metavar="DURATION", help="Kill an execution after this time [never].")
@click.option(
    "--response",
    default="time",
    metavar="NAME",
    help="What is compared: time, user_time, system_time, peak_memory, or a counter [time].",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@click.option(
    "--export-json",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write results in the form of hyperfine.",
)
@click.option(
    "--export-markdown", type=click.Path(path_type=Path), metavar="FILE", help="Write a table in Markdown."
)
@click.option("--export-csv", type=click.Path(path_type=Path), metavar="FILE", help="Write a table as CSV.")
@click.option(
    "--check",
    type=click.Choice(["slower"]),
    help="Exit with 1 when a later command is slower than the first.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the bundle [in the state folder].",
)
@click.option("--seed", type=click.IntRange(1, (1 << 53) - 1), metavar="N", help="Seed of the order [drawn].")
def time(
    commands: tuple[str, ...],
    labels: tuple[str, ...],
    revisions: str | None,
    build: str | None,
    series: bool,
    within: str | None,
    precision: str,
    runs: int | None,
    warmup: int | None,
    prepare: tuple[str, ...],
    conclude: tuple[str, ...],
    setup: tuple[str, ...],
    cleanup: str | None,
    scans: tuple[tuple[str, str, str], ...],
    step: str,
    lists: tuple[tuple[str, str], ...],
    shell: bool | None,
    input_file: str | None,
    output: str,
    ignore_failure: bool,
    allow_status: str | None,
    timeout: str | None,
    response: str,
    as_json: bool,
    export_json: Path | None,
    export_markdown: Path | None,
    export_csv: Path | None,
    check: str | None,
    out: Path | None,
    seed: int | None,
) -> None:
    """Say which of the COMMANDs is faster, by how much, and how sure that is; or how long one takes.

    The commands run as you, here, in turns and in random order, each time with another size of the
    environment, so that neither drift nor the memory layout favours one. It warms up as long as that
    helps, and stops as soon as the answer is known well enough; looking early does not spoil it.

    \b
      datamill time 'gzip -9 -k -c f' 'zstd -9 -c f'
      datamill time 'sleep 0.1'
      datamill time -L level 1,6,9 'gzip -{level} -c f'
      datamill time --git main..HEAD --build 'make -j2' -- './prog data'

    Exit status: 0 whatever the answer is, 1 with --check slower when a later command is slower than the
    first, 2 when a command fails, 130 when interrupted before there is an answer.
    """  # noqa: D301 - click needs the backspace itself
    if not commands:
        # An option with an optional value takes the next word for it.
        raise click.UsageError(
            f"there is no command: {revisions} was taken for revisions; write it behind --, as in "
            "datamill time --git -- './prog data'"
            if revisions
            else "Missing argument 'COMMAND...'."
        )
    if shell and commands[0] in _SHELLS and len(commands) > 1:
        raise click.UsageError(
            f"--shell takes no name here: {commands[0]} would be timed; the shell is /bin/sh"
        )
    asked = read_revisions(revisions, build, series=series)
    if asked is not None and (len(commands) != 1 or scans or lists or labels):
        raise click.UsageError(
            "--git times one command, without names and scans; write it behind --, as in "
            "datamill time --git main..HEAD -- './prog data'"
        )
    question = TimingQuestion(
        commands=read_commands(
            commands, labels=labels, shell=shell, parameters=parse_scans(scans, step, lists)
        ),
        directory=Path.cwd(),
        response=choose_response(response),
        within_s=parse_seconds(within, "within"),
        limit=parse_share(precision, where="--precision"),
        seed=seed or secrets.randbelow((1 << 53) - 1) + 1,
        most_rounds=runs,
        warmup_rounds=warmup,
        timeout_s=parse_seconds(timeout, "timeout"),
        allowed_statuses=None if ignore_failure else parse_statuses(allow_status),
        input_file=_find_input(input_file),
        **choose_output(output),
        shell=shell,
        setup=_check_count(setup, commands, "setup"),
        prepare=_check_count(prepare, commands, "prepare"),
        conclude=_check_count(conclude, commands, "conclude"),
        cleanup=(cleanup,) if cleanup else (),
    )
    exports = Exports(export_json, export_markdown, export_csv)
    exports.check_folders()
    slower = tell_timing(question, out or _choose_folder(), exports, as_json=as_json, revisions=asked)
    raise SystemExit(EXIT_SLOWER if check is not None and slower else 0)


def _choose_folder() -> Path:
    """A new folder for each timing, so that the working directory stays clean."""
    state = find_state_folder(os.environ, is_root=os.geteuid() == 0)
    return state / "timings" / f"{datetime.now().astimezone():%Y%m%d-%H%M%S}-{os.getpid()}"


def _find_input(name: str | None) -> Path | None:
    if name is None:
        return None
    file = Path(name).absolute()
    if not file.is_file() and not file.exists():
        raise InputError(f"there is no file {name}", where="--input", remedy="Correct the path.")
    return file


def _check_count(texts: tuple[str, ...], commands: tuple[str, ...], option: str) -> tuple[str, ...]:
    if len(texts) not in (0, 1, len(commands)):
        raise InputError(
            f"there are {len(texts)} of them for {len(commands)} commands",
            where=f"--{option}",
            remedy="Give one for all commands, or one for each.",
        )
    return texts
