"""Sending a submission to the coordinator, with the archives that it lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from datamill.cli.coordinator.coordinator_client import CoordinatorClient, MissingFilesError
from datamill.protocol.api.plans import AcceptedSubmission
from datamill.protocol.api.submissions import SubmissionRequest, SubmittedFile


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
