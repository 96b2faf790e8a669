"""`datamill fetch`: an experiment of the fleet as a bundle on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import httpx
from rich.console import Console
from rich.text import Text

from datamill.cli.console import make_console
from datamill.cli.coordinator.coordinator_client import CoordinatorClient, connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.experiment.reporting import print_report
from datamill.cli.fleet.fetch_tables import fetch_tables
from datamill.cli.json_answer import spell_answer
from datamill.conduct.fleet.coordinator_records import read_record
from datamill.conduct.fleet.take_home import TakenHome, take_home
from datamill.experiment.errors import InputError
from datamill.protocol.api.bundles import BundleProfile, FleetSummary
from datamill.protocol.api.experiments import ExperimentStatus
from datamill.report.figures.views import start_drawing

EXIT_ATTENTION = 2
#: States of experiments that have ended.
ENDED = ("completed", "cancelled")
NO_ANSWER = "No trial of its design has ended, so there is no answer."


@click.command()
@click.argument("number", metavar="ID", type=click.IntRange(min=1), required=False)
@click.option(
    "--tables",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Instead bring the results of all experiments into DIR as Parquet, what is new only.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the bundle [NAME-ID].")
@click.option("--json", "as_json", is_flag=True, help="Print what was fetched as JSON.")
@coordinator_options
def fetch(
    number: int | None,
    tables: Path | None,
    out: Path | None,
    as_json: bool,
    url: str | None,
    key: str | None,
) -> None:
    """Fetch experiment ID from the fleet as a bundle, and print the answer as datamill run does.

    The bundle is a folder like one of datamill run: report, analyze and export work on it. Of an experiment
    that has not ended it holds what there is by now.

    Exit status: 0 when every trial counted and can be used, 2 when something needs your attention. An
    experiment of debug trials alone has no answer: 0 when all of them completed.

    With --tables there is no ID: DIR becomes a data set of all experiments that you may see, a folder
    experiment=ID each, which polars, DuckDB and Spark read in place.
    """
    if tables is not None:
        if number is not None or out is not None:
            raise click.UsageError("--tables brings all experiments: leave out ID and --out.")
        with connect(url, key) as coordinator:
            fetch_tables(coordinator, tables, as_json=as_json)
        return
    if number is None:
        raise click.UsageError("which experiment? Type: datamill fetch ID")
    # Threads that share matrices as small as a design's take longer to meet than to multiply.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    console = make_console()
    with connect(url, key) as coordinator:
        experiment = coordinator.get(f"/experiments/{number}", ExperimentStatus)
        folder = out or Path(f"{experiment.name}-{number}")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(
                "the folder exists and is not empty", where=str(folder), remedy="Name another one with --out."
            )
        taken = fetch_bundle(coordinator, number, folder)
    bundle = taken.bundle
    file = bundle.folder / "fleet.json"
    fleet = read_record(file.read_bytes(), FleetSummary, str(file))
    told = f"{experiment.name}: {describe_counts(fleet)}, in {bundle.folder}/"
    warnings = [f"{name} is no longer there." for name in taken.left_out]
    if fleet.state not in ENDED:
        warnings.insert(0, f"The experiment is still {fleet.state}: this is what there is by now.")
    if as_json:
        raise SystemExit(print_json(taken, fleet, told, warnings))
    console.print(Text(told))
    if sentence := tell_profiles(bundle.folder):
        console.print(Text(sentence))
    for warning in warnings:
        console.print(Text(f"Warning: {warning}", style="yellow"))
    if fleet.planned == 0:
        raise SystemExit(tell_debug_trials(fleet, console))
    if not taken.records:
        console.print(Text(NO_ANSWER, style="yellow"))
        raise SystemExit(EXIT_ATTENTION)
    start_drawing()
    # Imported late: figures and statistics take a second to load.
    from datamill.conduct.report_bundle import report_bundle

    reported = report_bundle(bundle, taken.records)
    print_report(reported, console)
    raise SystemExit(EXIT_ATTENTION if reported.problems else 0)


def fetch_bundle(coordinator: CoordinatorClient, number: int, folder: Path) -> TakenHome:
    """Bring an experiment home as a bundle in a new folder.

    Raises:
        InputError: what came is not a sound bundle.
    """
    with coordinator.stream(f"/experiments/{number}/bundle") as answer:
        return take_home(_Body(answer), folder)


def tell_profiles(folder: Path) -> str:
    """Return how many profiles a fetched bundle has, in a sentence; empty where none were asked for."""
    file = folder / "profiles.json"
    if not file.is_file():
        return ""
    profiles = read_record(file.read_bytes(), list[BundleProfile], str(file))
    made = sum(bool(profile.file) for profile in profiles)
    return f"profiles: {made} of {len(profiles)}, listed in {file}"


def print_json(taken: TakenHome, fleet: FleetSummary, told: str, warnings: list[str]) -> int:
    """Print what was fetched and its answer as JSON, and write the report; return the exit status.

    Args:
        taken: the bundle on this machine.
        fleet: its `fleet.json`.
        told: the sentence that says how much came, and where it is.
        warnings: what the bundle lacks.
    """
    bundle = taken.bundle
    answer, report = [f"{told}."], None
    needs_attention = bool(count_failed_debug_trials(fleet)) or fleet.state != "completed"
    if fleet.planned and not taken.records:
        warnings = [*warnings, NO_ANSWER]
        needs_attention = True
    elif fleet.planned:
        start_drawing()
        # Imported late: figures and statistics take a second to load.
        from datamill.conduct.report_bundle import report_bundle

        reported = report_bundle(bundle, taken.records)
        found = reported.answered.answer
        answer += [found.headline, *found.details]
        warnings = [*reported.problems, *warnings, *found.warnings]
        report = str(bundle.report_file)
        needs_attention = bool(reported.problems)
    fetched = FetchedBundle(
        folder=str(bundle.folder),
        report=report,
        experiment=fleet.experiment,
        name=fleet.name,
        state=fleet.state,
        planned=fleet.planned,
        counted=fleet.counted,
        debug_planned=fleet.debug_planned,
        debug_completed=fleet.debug_completed,
    )
    click.echo(spell_answer(*answer, bundle=fetched, warnings=warnings))
    return EXIT_ATTENTION if needs_attention else 0


@dataclass(frozen=True, slots=True)
class FetchedBundle:
    """A bundle as JSON has it: where it is, and how far its experiment was; no `report` without an answer."""

    folder: str
    report: str | None
    experiment: int
    name: str
    state: str
    planned: int
    counted: int
    debug_planned: int
    debug_completed: int


def count_failed_debug_trials(fleet: FleetSummary) -> int:
    """Return how many debug trials did not complete."""
    return fleet.debug_planned - fleet.debug_completed


def describe_counts(fleet: FleetSummary) -> str:
    """Say how many trials counted, or completed where all are debug trials."""
    if fleet.planned > 0:
        return f"{fleet.counted} of {fleet.planned} trials counted"
    return f"{fleet.debug_completed} of {fleet.debug_planned} debug trials completed"


def tell_debug_trials(fleet: FleetSummary, console: Console) -> int:
    """Say what a bundle of debug trials alone is good for; return the exit status.

    Args:
        fleet: the bundle's `fleet.json`.
        console: where it is said.
    """
    console.print(
        "It has no design, so there is no answer. "
        "Records are in debug.jsonl, what scripts printed is in artifacts/."
    )
    failed = count_failed_debug_trials(fleet)
    if fleet.state == "completed" and not failed:
        return 0
    if failed and fleet.state in ENDED:
        console.print(Text(f"Attention: {failed} debug trials did not complete.", style="red"))
    return EXIT_ATTENTION


class _Body:
    """The body of an answer as a file that is read once, forwards."""

    def __init__(self, answer: httpx.Response) -> None:
        self._pieces: Iterator[bytes] = answer.iter_bytes()
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Return `size` bytes, fewer only at the end."""
        parts = [self._rest]
        there = len(self._rest)
        while there < size and (piece := next(self._pieces, b"")):
            parts.append(piece)
            there += len(piece)
        whole = b"".join(parts)
        self._rest = whole[size:]
        return whole[:size]
