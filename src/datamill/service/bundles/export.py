"""An experiment of the fleet as a bundle: the folder that `datamill run` makes, as a tar archive.

Besides what a local bundle holds there are `fleet.json` (who took part, and how many trials counted),
`attempts.jsonl` (who made each attempt, and which count), `events.jsonl`, and `late.jsonl` and `debug.jsonl`
with records that must never count. The last member, `complete.json`, is there only when everything before it
is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO

import msgspec
from django.db import connection

from datamill.protocol.api.bundles import BundleEnd, FleetMember, FleetSummary
from datamill.results.bundles.bundle_files import (
    BundleFile,
    list_fixed_files,
    make_file,
    make_json_file,
    make_spooled_file,
    write_folder,
)
from datamill.results.bundles.bundle_head import BundleFactor, BundleHead, BundlePackage
from datamill.results.bundles.decisions import DECISIONS_FILE
from datamill.results.judgement.judged_attempts import ATTEMPTS_FILE
from datamill.results.judgement.screened import SCREENED_FILE
from datamill.service.bundles.design import write_design
from datamill.service.bundles.logs import ROWS, BundleError, BundleLogs, write_attempts, write_logs
from datamill.service.bundles.profiles import PROFILES_FILE, list_profiles
from datamill.service.bundles.tar_stream import write_archive
from datamill.service.coordinator.experiments.due_looks import read_decisions
from datamill.service.coordinator.leasing.standings import list_stopped
from datamill.service.files.store import find_file
from datamill.service.models import Artifact, Attempt, Event, FleetExperiment, FleetWorker, Spare, Trial
from datamill.service.progress import describe_event
from datamill.service.states import ENDED_EXPERIMENTS, AttemptState, TrialPurpose, TrialState
from datamill.service.watching.reading import Rests

#: What the archive ends with.
COMPLETE_FILE = "complete.json"
_IN_MEMORY_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class PreparedBundle:
    """A bundle that was checked and is ready to be sent; `counted` trials are in its log."""

    experiment: FleetExperiment
    first: list[BundleFile]
    counted: int
    attempts_sha256: str
    resources: ExitStack

    def stream(self) -> Iterator[bytes]:
        """Yield the archive; it ends early when a file is not as it was."""
        with self.resources:
            yield from write_archive(self._list_members())

    def write(self, folder: Path) -> None:
        """Write the bundle to a folder that exists.

        Raises:
            ChangedFileError: a file is not as it was.
            OSError: the disk is full.
        """
        with self.resources:
            write_folder(self._list_members(), folder)

    def _list_members(self) -> Iterator[BundleFile]:
        files = 0
        left_out: list[str] = []
        for member in self.first:
            files += 1
            yield member
        for artifact in _list_artifacts(self.experiment, left_out):
            files += 1
            yield artifact
        end = BundleEnd(files, self.counted, self.attempts_sha256, tuple(left_out))
        yield make_file(COMPLETE_FILE, msgspec.json.encode(end))


def prepare_bundle(experiment: FleetExperiment, now_s: float, *, is_whole: bool = True) -> PreparedBundle:
    """Gather what an experiment's bundle holds, and check that each trial that counted is in it exactly once.

    Answers need no events, of which there are several a trial, and no archives: a bundle that is not
    `is_whole` has no events, and only the names of its archives.

    Raises:
        BundleError: when it is not, or a package is not in the store.
    """
    # Counted trials never become fewer, so that all of these must be found below.
    expected = Trial.objects.filter(
        experiment=experiment, purpose=TrialPurpose.DESIGN, state=TrialState.COUNTED
    ).count()
    # Before the logs are: what they were decided by is in these then.
    decisions = read_decisions(experiment.pk)
    with ExitStack() as resources:
        logs = BundleLogs(_open_spool(resources), _open_spool(resources), _open_spool(resources))
        write_logs(experiment, logs)
        design = _open_spool(resources)
        planned = write_design(experiment, design)
        _check_counted(experiment, logs, planned, expected)
        head = msgspec.json.decode(bytes(experiment.head), type=BundleHead)
        plan = make_spooled_file("design.json", design)
        attempts = _open_spool(resources)
        write_attempts(logs, attempts)
        judged = make_spooled_file(ATTEMPTS_FILE, attempts)
        fleet = _describe_fleet(experiment, len(planned), len(logs.counted), now_s)
        first = [
            make_json_file("fleet.json", fleet),
            *list_fixed_files(head, experiment.text, plan, _find_package if is_whole else _name_package),
            judged,
            make_spooled_file("log.jsonl", logs.log),
            make_spooled_file("late.jsonl", logs.late),
            make_spooled_file("debug.jsonl", logs.debug),
        ]
        if is_whole:
            events = _open_spool(resources)
            _write_events(experiment, events)
            first.append(make_spooled_file("events.jsonl", events))
        if experiment.screened is not None:
            first.append(make_file(SCREENED_FILE, msgspec.json.format(bytes(experiment.screened))))
        if profiles := list_profiles(experiment):
            first.append(make_json_file(PROFILES_FILE, profiles))
        if decisions:
            lines = msgspec.json.Encoder().encode_lines(decisions)
            first.append(make_file(DECISIONS_FILE, lines))
        digest = judged.digest()
        return PreparedBundle(experiment, first, len(logs.counted), digest, resources.pop_all())


def _check_counted(experiment: FleetExperiment, logs: BundleLogs, planned: set[str], expected: int) -> None:
    """Refuse a bundle in which a trial that counted is missing, or one counts that was not planned."""
    unplanned = logs.counted.keys() - planned
    if unplanned:
        raise BundleError(f"trial {min(unplanned)} counted and was never planned")
    ended = experiment.state in ENDED_EXPERIMENTS
    found = len(logs.counted)
    if found < expected or (ended and found > expected):
        raise BundleError(f"{expected} trials counted, and there are records of {found}")


def _describe_fleet(experiment: FleetExperiment, planned: int, counted: int, now_s: float) -> FleetSummary:
    """Return who took part and how far the experiment is."""
    ids = set(Trial.objects.filter(experiment=experiment).order_by().values_list("worker_id").distinct())
    ids |= set(
        Attempt.objects.filter(trial__experiment=experiment).order_by().values_list("worker_id").distinct()
    )
    members = FleetWorker.objects.filter(pk__in=[worker_id for (worker_id,) in ids])
    debug = Trial.objects.filter(experiment=experiment, purpose=TrialPurpose.DEBUG)
    spares = list(Spare.objects.filter(experiment=experiment).values_list("worker__name", flat=True))
    workers = [
        FleetMember(
            name=worker.name,
            worker_id=worker.worker_id,
            owner=worker.owner.username,
            hardware=worker.hardware,
            inventory=msgspec.Raw(bytes(worker.inventory)),
        )
        for worker in members.select_related("owner").order_by("name")
    ]
    levels: dict[str, set[str]] = {}
    for entry in workers:
        for name, level in entry.hardware.items():
            levels.setdefault(name, set()).add(level)
    return FleetSummary(
        experiment=experiment.pk,
        name=experiment.name,
        owner=experiment.owner.username,
        state=experiment.state,
        state_reason=experiment.state_reason,
        reboot=experiment.reboot,
        submitted_unix_s=experiment.submitted_unix_s,
        ended_unix_s=experiment.ended_unix_s,
        exported_unix_s=now_s,
        planned=planned,
        counted=counted,
        debug_planned=debug.count(),
        debug_completed=Attempt.objects.filter(
            trial__in=debug, state=AttemptState.COUNTED, outcome="completed"
        ).count(),
        stopped={item.package: item.reason for item in list_stopped(experiment.pk)},
        coverage={name: tuple(sorted(found)) for name, found in sorted(levels.items())},
        workers=tuple(workers),
        spares=tuple(spares),
    )


def _write_events(experiment: FleetExperiment, file: IO[bytes]) -> None:
    names = dict(FleetWorker.objects.values_list("pk", "name"))
    events = Event.objects.filter(experiment_id=experiment.pk).order_by("pk")
    rests = Rests()
    for event in events.iterator(chunk_size=ROWS):
        rests.rest()
        file.write(msgspec.json.encode(describe_event(event, names.get(event.worker_id, ""))) + b"\n")


def _list_artifacts(experiment: FleetExperiment, left_out: list[str]) -> Iterator[BundleFile]:
    """Yield what attempts produced, each in the folder of its attempt; note what is missing."""
    for trial_id, number, name, digest, size in _read_artifacts(experiment):
        member = f"artifacts/{trial_id}.{number}/{name}"
        # Names come from workers: only one that stays in its folder becomes a path.
        kept = None if "/" in name or name in ("", ".", "..") else find_file(digest)
        if kept is None:
            left_out.append(member)
            continue
        yield BundleFile(member, size, kept.source)


def _read_artifacts(experiment: FleetExperiment) -> Iterator[tuple[str, int, str, str, int]]:
    """Yield what attempts produced, in pages: a reader may be slow, and no query stays open for it."""
    artifacts = (
        Artifact.objects.filter(attempt__trial__experiment=experiment)
        .order_by("pk")
        .values_list(
            "pk", "attempt__trial__trial_id", "attempt__number", "name", "file_id", "file__size_bytes"
        )
    )
    latest = 0
    while page := list(artifacts.filter(pk__gt=latest)[:ROWS]):
        # Nor does the connection to the database.
        connection.close()
        for pk, trial_id, number, name, digest, size in page:
            yield trial_id, number, name, digest, size
            latest = pk


def _find_package(item: BundlePackage | BundleFactor) -> BundleFile:
    kept = find_file(item.sha256)
    if kept is None:
        raise BundleError(f"{item.file} is no longer in the store")
    return BundleFile(item.file, kept.size_bytes, kept.source)


def _name_package(item: BundlePackage | BundleFactor) -> BundleFile:
    """Return the entry of an archive that is not looked for; reading it fails, as it has another length."""
    return BundleFile(item.file, item.bytes, b"")


def _open_spool(resources: ExitStack) -> IO[bytes]:
    return resources.enter_context(SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES))
