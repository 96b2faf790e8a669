"""`datamill allocators kernel`: what the kernel did for a program, call by call."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from datamill.cli.allocators.options import OF_A_PROGRAM, ask_json, ask_program, ask_quiet, ask_table
from datamill.cli.allocators.tables import check_place, check_table, write_table
from datamill.cli.console import clean_for_terminal
from datamill.conduct.tracing.trace_kernel import KernelTrace, trace_kernel
from datamill.execution.tracing.traced_program import end_alike
from datamill.experiment.errors import InputError
from datamill.report.allocators.kernel.json import list_kernel_values
from datamill.report.allocators.kernel.statement import (
    phrase_kernel_answer,
    state_block_requests,
    state_kernel_limits,
    state_system_calls,
)
from datamill.report.tables.envelope import write_result

#: 250 MB of memory at most while the program runs.
MOST_CALLS = 1_000_000


@click.command(context_settings=OF_A_PROGRAM)
@ask_program
@ask_table("--latencies", "Write a row for each system call, as Parquet or CSV.")
@ask_table("--requests", "Follow block requests too, those of the whole machine, and write a row for each.")
@click.option(
    "--only", default="", metavar="CALL,…", help="System calls that are recorded [all]: mmap,read,write."
)
@ask_json
@click.option(
    "--calls",
    type=click.IntRange(1, 1 << 24),
    default=MOST_CALLS,
    metavar="N",
    help=f"Rows that are kept, the first of them [{MOST_CALLS}].",
)
@click.option(
    "--lines", type=click.IntRange(0), default=12, metavar="N", help="System calls in the report [12]."
)
@ask_quiet
def kernel(
    command: tuple[str, ...],
    latencies: Path | None,
    requests: Path | None,
    only: str,
    json_file: Path | None,
    calls: int,
    lines: int,
    quiet: bool,
) -> None:
    """Run a program and record its system calls: how long each took, and what the kernel did in it.

    Says in which the kernel's allocator of objects filled a cache or got pages, and with --requests which
    block requests were queued, merged, split or bounced. This takes root, and tracepoints of the kernel;
    what yours does not show is said. Children of the program are followed. The program has this terminal,
    and its exit status and signals are passed on; the report goes to standard error.

    \b
      datamill allocators kernel --latencies calls.parquet -- ./program argument
      datamill allocators analyze calls.parquet --where call=mmap
      datamill allocators kernel --requests requests.parquet -- dd if=/dev/zero of=file oflag=direct count=99
    """  # noqa: D301 - click needs the backspace itself
    if not command:
        raise InputError(
            "there is no program to trace",
            remedy="Type it last, such as: datamill allocators kernel -- ls /tmp",
        )
    for path in filter(None, (latencies, requests, json_file)):
        check_place(path)
    for option, table in (("--latencies", latencies), ("--requests", requests)):
        check_table(option, table)
    wanted = [name for name in only.replace(" ", "").split(",") if name]
    found = trace_kernel(command, only=wanted, limit=calls, requests=requests is not None)
    if json_file is not None:
        values = list_kernel_values(
            found.calls, found.requests, lost=found.lost, not_visible=found.not_visible
        )
        json_file.write_text(
            write_result([phrase_kernel_answer(found.calls)], values, ()) + "\n", encoding="utf-8"
        )
    if latencies is not None:
        write_table(found.calls.table, latencies)
    if requests is not None and found.requests is not None:
        write_table(found.requests.table, requests)
    if not quiet:
        _print_report(found, lines)
    end_alike(found.status)
    sys.exit(found.status)


def _print_report(found: KernelTrace, most: int) -> None:
    report = [phrase_kernel_answer(found.calls), *state_system_calls(found.calls, most=most)]
    if found.requests is not None:
        report += ["", *state_block_requests(found.requests)]
    report += state_kernel_limits(found.lost, found.calls.unpaired, found.not_visible)
    click.echo("\n".join(clean_for_terminal(line) for line in report), err=True)
