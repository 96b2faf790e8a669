"""The arguments and options of `datamill time`, in the order in which the help lists them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_ROUNDS = click.IntRange(1)
_FILE = click.Path(path_type=Path, allow_dash=True)
_ARGUMENTS = (
    click.argument("commands", nargs=-1, metavar="COMMAND..."),
    click.option(
        "--name",
        "-n",
        "--command-name",
        "labels",
        multiple=True,
        metavar="NAME",
        help="What to call a command; in order.",
    ),
    click.option(
        "--reference", metavar="CMD", help="A command that comes first: the others are compared with it."
    ),
    click.option("--reference-name", metavar="NAME", help="What to call that one."),
    click.option(
        "--git",
        "revisions",
        is_flag=False,
        flag_value="",
        metavar="BASE..HEAD",
        help="Time one command in two revisions [HEAD and what is not committed].",
    ),
    click.option(
        "--build", metavar="CMD", help="With --git: builds a revision; run again for other layouts."
    ),
    click.option("--series", is_flag=True, help="With --git: every commit from BASE to HEAD."),
    click.option(
        "--within",
        metavar="DURATION",
        help="Time for all of it, such as 30s or 5min [30s, and 6 executions].",
    ),
    click.option("--precision", default="1%", metavar="SHARE", help="Difference that does not matter [1%]."),
    click.option(
        "--runs", "-r", type=_ROUNDS, metavar="N", help="Exactly so many executions of each [as it takes]."
    ),
    click.option(
        "--min-runs", "-m", type=_ROUNDS, metavar="N", help="Executions of each at least [as it takes]."
    ),
    click.option("--max-runs", "-M", type=_ROUNDS, metavar="N", help="Executions of each at most [1000]."),
    click.option(
        "--warmup",
        "-w",
        type=click.IntRange(0, 1000),
        metavar="N",
        help="Executions of each that do not count [found].",
    ),
    click.option(
        "--prepare", "-p", multiple=True, metavar="CMD", help="Run before each execution, not measured."
    ),
    click.option(
        "--conclude", "-C", multiple=True, metavar="CMD", help="Run after each execution, not measured."
    ),
    click.option(
        "--setup", "-s", multiple=True, metavar="CMD", help="Run once for each command, before all others."
    ),
    click.option("--cleanup", "-c", metavar="CMD", help="Run once at the end."),
    click.option(
        "--parameter-scan",
        "-P",
        "scans",
        nargs=3,
        multiple=True,
        metavar="NAME LOW HIGH",
        help="Time the commands for each value of {NAME}.",
    ),
    click.option("--parameter-step-size", "-D", "step", metavar="STEP", help="Steps of a scan [1]."),
    click.option(
        "--parameter-list",
        "-L",
        "lists",
        nargs=2,
        multiple=True,
        metavar="NAME A,B,...",
        help="Time the commands for each of these values of {NAME}; \\, is a comma.",
    ),
    click.option(
        "--shell",
        "-S",
        metavar="SHELL",
        help="Run all commands through it: default for /bin/sh, none, or a program [where one needs it].",
    ),
    click.option("--no-shell", "-N", is_flag=True, help="The same as --shell none."),
    click.option(
        "--input", "input_file", metavar="FILE", help="Standard input of the commands; null is empty [null]."
    ),
    click.option(
        "--output",
        multiple=True,
        metavar="WHERE",
        help="Standard output: capture, null, inherit or a FILE; for all, or for each [capture].",
    ),
    click.option(
        "--show-output", is_flag=True, help="The same as --output inherit: shown on standard error."
    ),
    click.option(
        "--ignore-failure",
        "-i",
        is_flag=True,
        help="Count executions whatever their exit status; -i=1,2: these statuses as well as 0.",
    ),
    click.option("--allow-status", metavar="N,...", help="Exit statuses that are not failures [0]."),
    click.option("--timeout", metavar="DURATION", help="Kill an execution after this time [never]."),
    click.option(
        "--response",
        default="time",
        metavar="NAME",
        help="What is compared: time, user_time, system_time, peak_memory, or a counter [time].",
    ),
    click.option(
        "--time-unit",
        "-u",
        type=click.Choice(["microsecond", "millisecond", "second"]),
        help="Write all times in it [as their size is].",
    ),
    click.option(
        "--style",
        type=click.Choice(["auto", "basic", "full", "nocolor", "color", "none"]),
        default="auto",
        help="basic and none show nothing while it measures [auto].",
    ),
    click.option(
        "--sort",
        type=click.Choice(["auto", "command", "mean-time"]),
        default="auto",
        help="Order of commands in picture and tables: mean-time, or as typed [auto: as typed].",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON."),
    click.option(
        "--export-json",
        type=_FILE,
        metavar="FILE",
        help="Write results in the form of hyperfine; - is standard output.",
    ),
    click.option("--export-markdown", type=_FILE, metavar="FILE", help="Write a table in Markdown."),
    click.option("--export-asciidoc", type=_FILE, metavar="FILE", help="Write a table in AsciiDoc."),
    click.option("--export-orgmode", type=_FILE, metavar="FILE", help="Write a table for Emacs' org-mode."),
    click.option("--export-csv", type=_FILE, metavar="FILE", help="Write a table as CSV."),
    click.option(
        "--check",
        type=click.Choice(["slower"]),
        help="Exit with 1 when a later command is slower than the first.",
    ),
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Folder of the bundle [in the state folder].",
    ),
    click.option(
        "--seed", type=click.IntRange(1, (1 << 53) - 1), metavar="N", help="Seed of the order [drawn]."
    ),
)


def take_time_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function the arguments of `datamill time`."""
    for argument in reversed(_ARGUMENTS):
        function = argument(function)
    return function
