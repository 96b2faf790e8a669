"""`datamill worker`: what the worker knows of this machine, and putting it back as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from datamill.cli.console import make_console, tell_waiting
from datamill.cli.machine.worker_fleet import join, token
from datamill.cli.machine.worker_guest import guest_image
from datamill.cli.machine.worker_image import image
from datamill.cli.machine.worker_json import (
    NOTHING_AGAINST,
    spell_inventory,
    spell_noise,
    spell_restoration,
)
from datamill.cli.machine.worker_lab import lab
from datamill.execution.host_lock import STATE_VARIABLE, lock_host, name_lock
from datamill.execution.worker import ask_worker, find_worker, read_host_facts, read_offers
from datamill.experiment.messages.numbers import format_fixed, format_share
from datamill.experiment.quantities import format_duration, format_size
from datamill.protocol.noise import NoiseFacts
from datamill.protocol.restoration import Restoration
from datamill.results.judgement.noise import NoiseJudgement, judge_noise

#: A noisy host is no error of the command.
EXIT_NOISY = 1


@click.group()
def worker() -> None:
    """Look at this machine as the worker sees it, put it back as it was, let it join a fleet."""


worker.add_command(join)
worker.add_command(token)
worker.add_command(image)
worker.add_command(guest_image)
worker.add_command(lab)


@worker.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be undone.")
@click.option("--forget", is_flag=True, help="Give up what cannot be undone, after you put it right by hand.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def restore(dry_run: bool, forget: bool, as_json: bool) -> None:
    """Undo what a trial that was killed left changed on this host.

    Each change to the host is in a journal on disk before it is made. `datamill run` undoes what an
    earlier one left by itself; this does so without running anything.

    Exit status: 0 when the host is as it was before, 1 when something could not be undone (or, with
    --dry-run, is to be undone), 2 when the journal cannot be used.
    """
    # A journal that is looked for in the wrong place seems to be empty.
    name_lock(os.environ.get(STATE_VARIABLE, ""))
    given = {"--dry-run": dry_run, "--forget": forget, "--json": as_json}
    arguments = [option for option, wanted in given.items() if wanted]
    asked: list[str | Path] = [find_worker(), "restore", *arguments]
    output = subprocess.PIPE if as_json else None
    result = subprocess.run(asked, stdin=subprocess.DEVNULL, stdout=output, check=False)
    if as_json and result.stdout:
        click.echo(spell_restoration(msgspec.json.decode(result.stdout, type=Restoration)))
    raise SystemExit(result.returncode)


@worker.command()
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def inventory(as_json: bool) -> None:
    """Say what this machine is, and at which levels its settings are."""
    binary = find_worker()
    host = read_host_facts(binary)
    offers = [offer for offer in read_offers(binary).values() if offer.current is not None]
    if as_json:
        click.echo(spell_inventory(host, offers))
        return
    table = Table.grid(padding=(0, 2))
    for name, value in (
        ("processor", host.cpu_model),
        ("architecture", host.arch),
        ("processors online", str(host.cores)),
        ("memory", format_size(host.memory_bytes)),
        ("kernel", host.kernel),
        ("boot", host.boot_id),
        *((offer.name, offer.current or "") for offer in offers),
    ):
        table.add_row(Text(name, style="dim"), Text(value))
    make_console().print(table)


@worker.command()
@click.option("--seconds", type=click.FloatRange(0.1, 3600), help="How long to measure, over all processors.")
@click.option("--json", "as_json", is_flag=True, help="Print figures and judgement as JSON.")
def noise(seconds: float | None, as_json: bool) -> None:
    """Measure how quiet this host is, before you trust it with an experiment.

    A program that never stops computing runs on each processor in turn. Exit status: 0 when nothing speaks
    against this host, 1 when something does.
    """
    arguments = ("--seconds", f"{seconds:g}") if seconds is not None else ()
    # It would disturb an experiment as much as be disturbed by it.
    with lock_host(tell=tell_waiting):
        told = ask_worker(find_worker(), "noise", *arguments)
    facts = msgspec.json.decode(told, type=NoiseFacts)
    judgement = judge_noise(facts)
    if as_json:
        click.echo(spell_noise(facts, judgement))
    else:
        print_noise(facts, judgement, Console(width=None if sys.stdout.isatty() else 110, highlight=False))
    raise SystemExit(EXIT_NOISY if judgement.objections else 0)


def print_noise(facts: NoiseFacts, judgement: NoiseJudgement, console: Console) -> None:
    """Print the figures of each processor and what speaks against this host."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("processor")
    for header in ("work spread", "work tail", "time lost", "longest gap", "sleep late", "late 99%"):
        table.add_column(header, justify="right")
    for score in judgement.scores:
        table.add_row(
            str(score.processor),
            format_share(score.spread),
            format_share(score.tail),
            format_share(score.lost),
            _format_time(score.longest_gap_s),
            *(_format_time(value) for value in score.late_s),
        )
    console.print(table)
    console.print(
        Text(
            "Equal pieces of work: spread is the range of the middle half of their times, as a "
            "share of the median, tail how much longer than the median one in a hundred takes. Time lost: "
            "something else ran. Sleep late: the time from when a sleep should end to when it does, median "
            f"and 99th percentile. Measured for {format_duration(facts.span_ns / 1e9)}.",
            style="dim",
        )
    )
    if facts.disturbance.untold:
        console.print(Text(f"This host does not report: {'; '.join(facts.disturbance.untold)}.", style="dim"))
    for objection in judgement.objections:
        console.print(Text(objection, style="yellow"))
    if not judgement.objections:
        console.print(Text(NOTHING_AGAINST, style="green"))


def _format_time(seconds: float) -> str:
    return (
        f"{format_fixed(seconds * 1e6, 0)} µs" if seconds < 1e-3 else f"{format_fixed(seconds * 1e3, 1)} ms"
    )


#: What the help says of each; click cuts first sentences short.
_SHORT_HELP = {
    "guest-image": "Make what isolated trials boot in a guest.",
    "image": "Build a bootable machine that is a worker.",
    "inventory": "Say what this machine is and how it is set.",
    "join": "Make this machine a worker of a coordinator.",
    "lab": "Boot a small fleet of emulated machines.",
    "noise": "Measure how quiet this host is.",
    "restore": "Undo what killed trials left changed here.",
    "token": "Make a token that lets one machine join.",
}
for _name, _text in _SHORT_HELP.items():
    worker.commands[_name].short_help = _text
