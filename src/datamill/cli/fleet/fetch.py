"""`datamill fetch`: an experiment of the fleet as a bundle on this machine."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

import click
import httpx
from rich.console import Console
from rich.text import Text

from datamill.cli.console import make_console
from datamill.cli.coordinator.answers import read_record
from datamill.cli.coordinator.coordinator_client import CoordinatorClient, connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.experiment.errors import InputError
from datamill.protocol.api.bundles import BundleEnd, FleetSummary
from datamill.protocol.api.experiments import ExperimentStatus
from datamill.protocol.trial import TrialRecord
from datamill.report.figures.views import start_drawing
from datamill.results.bundles.bundle import Bundle, open_bundle
from datamill.results.judgement.validity import count_trials_once

EXIT_ATTENTION = 2
#: States of experiments that have ended.
ENDED = ("completed", "cancelled")
_COMPLETE_FILE = "complete.json"
_AGAIN = "Type the command again; if it stays so, tell the people who run the coordinator."


@click.command()
@click.argument("number", metavar="ID", type=click.IntRange(min=1))
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the bundle [NAME-ID].")
@coordinator_options
def fetch(number: int, out: Path | None, url: str | None, key: str | None) -> None:
    """Fetch experiment ID from the fleet as a bundle, and print the answer as datamill run does.

    The bundle is a folder like one of datamill run: report, analyze and export work on it. Of an experiment
    that has not ended it holds what there is by now.

    Exit status: 0 when every trial counted and can be used, 2 when something needs your attention. An
    experiment of debug trials alone has no answer: 0 when all of them completed.
    """
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
        bundle, records, left_out = download_bundle(coordinator, number, folder)
    file = bundle.folder / "fleet.json"
    fleet = read_record(file.read_bytes(), FleetSummary, str(file))
    has_design = fleet.planned > 0
    told = describe_counts(fleet)
    console.print(f"{experiment.name}: {told}, in {bundle.folder}/")
    if fleet.state not in ENDED:
        console.print(
            Text(f"The experiment is still {fleet.state}: this is what there is by now.", style="yellow")
        )
    for name in left_out:
        console.print(Text(f"Warning: {name} is no longer there.", style="yellow"))
    if not has_design:
        raise SystemExit(tell_debug_trials(fleet, console))
    if not records:
        console.print(Text("No trial of its design has ended, so there is no answer.", style="yellow"))
        raise SystemExit(EXIT_ATTENTION)
    start_drawing()
    # Imported late: figures and statistics take a second to load.
    from datamill.cli.experiment.reporting import report_bundle

    raise SystemExit(EXIT_ATTENTION if report_bundle(bundle, records, console) else 0)


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
    failed = fleet.debug_planned - fleet.debug_completed
    if fleet.state == "completed" and not failed:
        return 0
    if failed and fleet.state in ENDED:
        console.print(Text(f"Attention: {failed} debug trials did not complete.", style="red"))
    return EXIT_ATTENTION


def download_bundle(
    coordinator: CoordinatorClient, number: int, folder: Path
) -> tuple[Bundle, list[TrialRecord], list[str]]:
    """Fetch a bundle into a new folder, where it appears when it is whole and every trial counts once.

    Returns:
        the bundle, its records, and which artifacts the coordinator no longer has.

    Raises:
        InputError: when what came is not a sound bundle.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        with coordinator.stream(f"/experiments/{number}/bundle") as answer:
            end = unpack(_Reader(answer), draft)
        records = check_bundle(draft, end)
        draft.chmod(0o755)
        if folder.exists():
            folder.rmdir()
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return open_bundle(folder), records, list(end.left_out)


class _Reader:
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


def unpack(stream: _Reader | IO[bytes], folder: Path) -> BundleEnd:
    """Unpack a bundle's archive, plain files below the folder alone, and return what it says at its end.

    Raises:
        InputError: when it is cut off, or holds anything else.
    """
    files = 0
    try:
        with tarfile.open(fileobj=stream, mode="r|") as tar:  # type: ignore[call-overload]
            for member in tar:
                path = PurePosixPath(member.name)
                if not member.isreg() or path.is_absolute() or ".." in path.parts or not path.parts:
                    raise InputError(
                        f'the archive holds "{member.name}", which is no plain file below the bundle',
                        remedy="Do not trust this coordinator.",
                    )
                content = tar.extractfile(member)
                assert content is not None
                if member.name == _COMPLETE_FILE:
                    end = read_record(content.read(), BundleEnd, _COMPLETE_FILE)
                    if end.files != files:
                        raise InputError(f"{files} of {end.files} files came", remedy=_AGAIN)
                    return end
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as handle:
                    shutil.copyfileobj(content, handle, 1 << 20)
                files += 1
    except (tarfile.TarError, EOFError) as error:
        raise InputError(f"the bundle was cut off: {error}", remedy=_AGAIN) from None
    raise InputError(f"the bundle was cut off after {files} files", remedy=_AGAIN)


def check_bundle(folder: Path, end: BundleEnd) -> list[TrialRecord]:
    """Make sure that a bundle is what the coordinator says: digests, and each counted trial exactly once.

    Raises:
        InputError: when it is not.
    """
    bundle = open_bundle(folder)
    head = bundle.head
    digests = {item.file: item.sha256 for item in (*head.packages, *head.loads)}
    digests |= {item.file: item.sha256 for item in head.factors}
    for file, digest in digests.items():
        with (folder / file).open("rb") as handle:
            if hashlib.file_digest(handle, "sha256").hexdigest() != digest:
                raise InputError(f"{file} is not what was submitted", remedy=_AGAIN)
    (folder / "artifacts").mkdir(exist_ok=True)
    records = bundle.read_records()
    planned = {trial.trial_id for trial in bundle.design.trials}
    if len(planned) != len(bundle.design.trials):
        raise InputError("a trial is planned twice", where=str(folder / "design.json"), remedy=_AGAIN)
    counted = count_trials_once(records).counted
    strange = counted.keys() - planned
    if strange:
        raise InputError(f"trial {min(strange)} was never planned", where="log.jsonl", remedy=_AGAIN)
    lines = "".join(f"{trial} {attempt}\n" for trial, attempt in sorted(counted.items()))
    if hashlib.sha256(lines.encode()).hexdigest() != end.standing_sha256:
        raise InputError(
            "the attempts that count here are not those that count for the coordinator",
            where="log.jsonl",
            remedy=_AGAIN,
        )
    return records
