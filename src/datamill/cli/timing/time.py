"""`datamill time`: which of these commands is faster?"""

from __future__ import annotations

import os
import secrets
import shlex
from pathlib import Path

import click

from datamill.cli.timing.hyperfine_spellings import TimeCommand
from datamill.cli.timing.per_command import check_count, choose_redirections, refuse_shared_setups, spread
from datamill.cli.timing.tell_timing import Exports, tell_timing
from datamill.cli.timing.time_arguments import take_time_options
from datamill.cli.timing.time_options import (
    UNITS,
    choose_response,
    choose_rounds,
    choose_shell,
    parse_scans,
    parse_seconds,
    parse_statuses,
    put_reference,
    read_revisions,
)
from datamill.conduct.timing.question import TimingQuestion
from datamill.execution.state_folder import name_results_folder
from datamill.experiment.command_lines import read_commands
from datamill.experiment.errors import InputError
from datamill.experiment.quantities import parse_share

EXIT_SLOWER = 1


@click.command(cls=TimeCommand, context_settings={"max_content_width": 100})
@take_time_options
def time(
    commands: tuple[str, ...],
    labels: tuple[str, ...],
    reference: str | None,
    reference_name: str | None,
    revisions: str | None,
    build: str | None,
    series: bool,
    within: str | None,
    precision: str,
    runs: int | None,
    min_runs: int | None,
    max_runs: int | None,
    warmup: int | None,
    prepare: tuple[str, ...],
    conclude: tuple[str, ...],
    setup: tuple[str, ...],
    cleanup: str | None,
    scans: tuple[tuple[str, str, str], ...],
    step: str | None,
    lists: tuple[tuple[str, str], ...],
    shell: str | None,
    no_shell: bool,
    input_file: str | None,
    output: tuple[str, ...],
    show_output: bool,
    ignore_failure: bool,
    allow_status: str | None,
    timeout: str | None,
    response: str,
    time_unit: str | None,
    style: str,
    sort: str,
    as_json: bool,
    export_json: Path | None,
    export_markdown: Path | None,
    export_asciidoc: Path | None,
    export_orgmode: Path | None,
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
    commands, labels = put_reference(commands, labels, reference, reference_name)
    asked = read_revisions(revisions, build, series=series)
    if asked is not None and (len(commands) != 1 or scans or lists or labels):
        what = "one command, without names and scans"
        if len(commands) > 1:
            what = f"one command, and these are {len(commands)}: if they are one, put it in quotes"
        raise click.UsageError(
            f"--git times {what}; write it behind --, as in "
            f"datamill time --git main..HEAD -- {shlex.quote(' '.join(commands))}"
        )
    around, program = choose_shell(shell, none=no_shell)
    least_rounds, most_rounds = choose_rounds(runs, min_runs, max_runs)
    for texts, option in ((setup, "setup"), (prepare, "prepare"), (conclude, "conclude"), (output, "output")):
        check_count(texts, commands, option)
    lines = read_commands(
        commands,
        labels=labels,
        shell=around,
        program=program,
        parameters=parse_scans(scans, step, lists),
        beside=(setup, prepare, conclude),
    )
    setup, prepare = spread(setup, lines), spread(prepare, lines)
    refuse_shared_setups(lines, setup, prepare)
    question = TimingQuestion(
        commands=lines,
        directory=Path.cwd(),
        response=choose_response(response),
        within_s=parse_seconds(within, "within"),
        limit=parse_share(precision, where="--precision"),
        seed=seed or secrets.randbelow((1 << 53) - 1) + 1,
        least_rounds=least_rounds,
        most_rounds=most_rounds,
        warmup_rounds=warmup,
        timeout_s=parse_seconds(timeout, "timeout"),
        allowed_statuses=None if ignore_failure else parse_statuses(allow_status),
        input_file=_find_input(input_file),
        redirections=choose_redirections(output, lines, shown=show_output),
        shell=program,
        setup=setup,
        prepare=prepare,
        conclude=spread(conclude, lines),
        cleanup=(cleanup,) if cleanup else (),
    )
    exports = Exports(export_json, export_markdown, export_asciidoc, export_orgmode, export_csv)
    exports.check_places(as_json=as_json)
    slower = tell_timing(
        question,
        out or _choose_folder(),
        exports,
        as_json=as_json,
        revisions=asked,
        quiet=style in ("basic", "none"),
        by_mean=sort == "mean-time",
        time_unit=UNITS.get(time_unit or "", ""),
        # Of revisions the first is what the others come from.
        has_reference=reference is not None or asked is not None,
    )
    raise SystemExit(EXIT_SLOWER if check is not None and slower else 0)


def _choose_folder() -> Path:
    """A new folder for each timing, so that the working directory stays clean."""
    return name_results_folder("timings", os.environ, is_root=os.geteuid() == 0)


def _find_input(name: str | None) -> Path | None:
    if name is None or name == "null":
        return None
    file = Path(name).absolute()
    if not file.is_file() and not file.exists():
        raise InputError(f"there is no file {name}", where="--input", remedy="Correct the path.")
    return file
