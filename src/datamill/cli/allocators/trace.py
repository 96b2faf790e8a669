"""`datamill allocators trace`: a program's allocations that take the slow path, by line."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from datamill.allocators.events import EVENTS
from datamill.cli.allocators.options import OF_A_PROGRAM, ask_json, ask_program, ask_quiet, ask_table
from datamill.cli.allocators.tables import check_place, check_table, write_table
from datamill.cli.console import clean_for_terminal
from datamill.cli.timing.passing_lines import PassingLines
from datamill.conduct.tracing.attach import trace_running
from datamill.conduct.tracing.trace_allocations import TracedProgram, trace_allocations
from datamill.execution.tracing.traced_program import end_alike
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_count
from datamill.report.allocators.annotated import annotate_sources
from datamill.report.allocators.folded import fold_stacks
from datamill.report.allocators.json import list_metrics, list_trace_values
from datamill.report.allocators.latencies import state_latencies
from datamill.report.allocators.served import state_served
from datamill.report.allocators.statement import list_limits, list_lines, list_totals, phrase_answer
from datamill.report.tables.envelope import write_result

#: 80 MB of memory while the program runs.
MOST_CALLS = 2_000_000


@click.command(context_settings=OF_A_PROGRAM)
@ask_program
@ask_json
@click.option(
    "--metrics",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the totals as the metrics of a package, allocations_EVENT each: responses of an experiment.",
)
@click.option("--stacks", is_flag=True, help="Keep whole stacks, in the JSON.")
@click.option(
    "--folded",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write stacks as drawers of flame graphs read them; implies --stacks.",
)
@ask_table("--latencies", "Write the latency of every allocation request, fast ones too, as Parquet or CSV.")
@ask_table(
    "--served", "Write, in place of them, what a server did for each request that it read from a socket."
)
@click.option(
    "--calls",
    type=click.IntRange(1, 1 << 28),
    default=MOST_CALLS,
    metavar="N",
    help=f"Requests whose latency is kept, the first of them [{MOST_CALLS}]; 40 bytes each.",
)
@click.option(
    "--faults",
    is_flag=True,
    help="Ask the kernel for the page faults in each request, where they do not show otherwise: two calls "
    "each.",
)
@click.option(
    "--regions", is_flag=True, help="Count only what lies in datamill.allocators.region [the whole program]."
)
@click.option(
    "--lines", type=click.IntRange(0), default=5, metavar="N", help="Lines of each event in the report [5]."
)
@click.option(
    "--pid",
    type=int,
    metavar="N",
    help="Trace a program that runs already, CPython 3.14 or later, until it ends or Ctrl-C ends the trace.",
)
@click.option(
    "--for",
    "seconds",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="With --pid, for so long.",
)
@click.option(
    "--annotate",
    is_flag=True,
    help="Show the source of lines with events, and where memory could be asked for at once.",
)
@ask_quiet
@click.option(
    "--live/--no-live", default=None, help="Show totals while the program runs [where it prints elsewhere]."
)
def trace(
    command: tuple[str, ...],
    json_file: Path | None,
    metrics: Path | None,
    stacks: bool,
    folded: Path | None,
    latencies: Path | None,
    served: Path | None,
    calls: int,
    faults: bool,
    regions: bool,
    lines: int,
    pid: int | None,
    seconds: float | None,
    annotate: bool,
    quiet: bool,
    live: bool | None,
) -> None:
    """Run a program and count its allocations that take the slow path.

    Of CPython 3.11 to 3.15 they are counted by line; of any other program, by where it calls malloc or
    what is like it. Children of the program are followed. The program has this terminal, and its exit
    status and signals are passed on; the report goes to standard error.

    \b
      datamill allocators trace -- python script.py
      datamill allocators trace --json found.json -- python -m module argument
      datamill allocators trace --latencies calls.parquet -- python script.py
      datamill allocators trace --served commands.parquet -- redis-server --port 7777
    """  # noqa: D301 - click needs the backspace itself
    _check_what_is_traced(command, pid, regions or bool(latencies or served))
    for path in filter(None, (json_file, metrics, folded, latencies, served)):
        check_place(path)
    if latencies is not None and served is not None:
        raise InputError(
            "latencies are kept of requests to the allocator, or of those that a server answers",
            where="--served",
            remedy="Trace the program twice, with --latencies and with --served.",
        )
    for option, table in (("--latencies", latencies), ("--served", served)):
        check_table(option, table)
    wants_live = sys.stderr.isatty() and not sys.stdout.isatty() if live is None else live
    with _Totals() as totals:
        look = totals.show if wants_live else None
        traced = (
            trace_running(pid, stacks=stacks or folded is not None, seconds=seconds, look=look)
            if pid is not None
            else trace_allocations(
                command,
                stacks=stacks or folded is not None,
                regions=regions,
                latencies=calls if latencies is not None or served is not None else 0,
                faults=faults,
                served=served is not None,
                look=look,
            )
        )
    if json_file is not None:
        values = list_trace_values(
            traced.trace, stacks=stacks or folded is not None, latencies=traced.latencies
        )
        json_file.write_text(write_result([phrase_answer(traced.trace)], values, ()) + "\n", encoding="utf-8")
    if metrics is not None:
        metrics.write_text(json.dumps(list_metrics(traced.trace)) + "\n", encoding="utf-8")
    if folded is not None:
        folded.write_text("".join(f"{line}\n" for line in fold_stacks(traced.trace)), encoding="utf-8")
    if latencies is not None and traced.latencies is not None:
        write_table(traced.latencies.table, latencies)
    if served is not None and traced.served is not None:
        write_table(traced.served.table, served)
    if not quiet:
        _print_report(traced, lines, annotate=annotate)
    end_alike(traced.status)
    sys.exit(traced.status)


def _check_what_is_traced(command: tuple[str, ...], pid: int | None, needs_a_beginning: bool) -> None:
    if not command and pid is None:
        raise InputError(
            "there is no program to trace",
            remedy="Type it last, such as: datamill allocators trace -- python script.py",
        )
    if command and pid is not None:
        raise InputError(
            "a program is traced that runs already, or one that is started",
            where="--pid",
            remedy="Leave out --pid, or the program.",
        )
    if pid is not None and needs_a_beginning:
        raise InputError(
            "regions, latencies and what a server does are only seen in programs that are started here",
            where="--pid",
            remedy="Leave them out, or start the program with: datamill allocators trace -- PROGRAM",
        )


def _read_source(file: str) -> list[str] | None:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError):
        return None


def _print_report(traced: TracedProgram, most: int, *, annotate: bool) -> None:
    found = traced.trace
    report = [phrase_answer(found), *list_totals(found), *list_lines(found, most=most)]
    if traced.latencies is not None:
        report += ["", *state_latencies(traced.latencies, most=most)]
    if traced.served is not None:
        report += ["", *state_served(traced.served)]
    if annotate:
        report += annotate_sources(found, _read_source)
    report += list_limits(found, with_latencies=traced.latencies is not None)
    click.echo("\n".join(clean_for_terminal(line) for line in report), err=True)


class _Totals(PassingLines):
    """Totals on the terminal while the program runs."""

    def show(self, totals: Mapping[str, int]) -> None:
        """Show them."""
        self._show([f"{event.title}: {format_count(totals[event.name])}" for event in EVENTS])
