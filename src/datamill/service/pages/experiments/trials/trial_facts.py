"""What pages show of a trial and its attempts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.errors import InputError
from datamill.protocol.trial import Failure, Phase, TrialRecord
from datamill.results.judgement.doubts import spell_processes
from datamill.results.trials.log import decode_record
from datamill.service.coordinator.leasing.leases import decode_planned_trial
from datamill.service.models import Artifact, Attempt, OutputPiece, Trial
from datamill.service.progress import name_state

#: Most pieces of live output that a page shows; the rest is in the artifacts.
MOST_PIECES = 2000
_PHASES = get_args(Phase)


@dataclass(frozen=True, slots=True)
class ShownTrial:
    """A row of the table of trials."""

    trial_id: str
    package: str
    levels: tuple[tuple[str, str], ...]
    worker: str
    state: str
    purpose: str
    attempts: int
    block: str


@dataclass(frozen=True, slots=True)
class ShownPiece:
    """A piece of what a script printed; `first` of its phase."""

    number: int
    phase: str
    text: str
    first: bool


@dataclass(frozen=True, slots=True)
class ShownAttempt:
    """An attempt with what its record says."""

    number: int
    worker: str
    state: str
    reason: str
    leased_unix_s: float
    taken_unix_s: float | None
    ended_unix_s: float | None
    deadline_unix_s: float
    rebooted: bool
    outcome: str
    wall_time_s: float | None
    failure: Failure | None
    notices: tuple[str, ...]
    quiet_wait_s: float | None
    is_quiet: bool
    busiest: str
    has_record: bool
    output: list[ShownPiece]
    artifacts: tuple[tuple[str, int], ...]


def show_trial(trial: Trial) -> ShownTrial:
    """Return what a page shows of a trial."""
    plan = decode_planned_trial(bytes(trial.plan))
    return ShownTrial(
        trial_id=trial.trial_id,
        package=plan.package,
        levels=tuple(
            (name, level) for name, level in plan.levels.items() if name not in ("package", MACHINE_FACTOR)
        ),
        worker=trial.worker.name,
        state=name_state(trial.purpose, trial.state),
        purpose=trial.purpose,
        attempts=trial.attempts,
        block=trial.block,
    )


def list_attempts(trial: Trial) -> list[ShownAttempt]:
    """Return the attempts at a trial, the latest first."""
    return [
        show_attempt(attempt)
        for attempt in trial.attempt_set.select_related("worker", "trial").order_by("-number")
    ]


def show_attempt(attempt: Attempt) -> ShownAttempt:
    """Return what a page shows of an attempt."""
    record = _read_record(attempt)
    quiet = record.quiet if record is not None else None
    return ShownAttempt(
        number=attempt.number,
        worker=attempt.worker.name,
        state=name_state(attempt.trial.purpose, attempt.state),
        reason=attempt.reason,
        leased_unix_s=attempt.leased_unix_s,
        taken_unix_s=attempt.taken_unix_s,
        ended_unix_s=attempt.ended_unix_s,
        deadline_unix_s=attempt.deadline_unix_s,
        rebooted=attempt.rebooted,
        outcome=attempt.outcome,
        wall_time_s=record.run.wall_time_ns / 1e9 if record is not None and record.run is not None else None,
        failure=record.failure if record is not None else None,
        notices=record.notices if record is not None else (),
        quiet_wait_s=quiet.waited_ns / 1e9 if quiet is not None else None,
        is_quiet=quiet is not None and quiet.quiet,
        busiest=spell_processes(record.disturbance.busiest) if record and record.disturbance else "",
        has_record=attempt.record is not None,
        output=list_output(attempt),
        artifacts=tuple(
            Artifact.objects.filter(attempt=attempt).order_by("name").values_list("name", "file__size_bytes")
        ),
    )


def _read_record(attempt: Attempt) -> TrialRecord | None:
    """Return the record of an attempt; None where there is none, or what a worker sent is none."""
    try:
        return decode_record(bytes(attempt.record), where=attempt.key) if attempt.record else None
    except InputError:
        return None


def list_output(attempt: Attempt, latest: int | None = None) -> list[ShownPiece]:
    """Return what the scripts of a debug trial printed, up to the `latest` piece; of much, the end.

    Pieces are told by phase: a script that is over quickly may be told of after the next.
    """
    found = OutputPiece.objects.filter(attempt=attempt)
    if latest is not None:
        found = found.filter(pk__lte=latest)
    rows = list(found.order_by("-number").values_list("number", "phase", "text")[:MOST_PIECES])
    rows.sort(key=lambda row: (_PHASES.index(row[1]) if row[1] in _PHASES else len(_PHASES), row[0]))
    return [
        ShownPiece(number, phase, text, first=not place or rows[place - 1][1] != phase)
        for place, (number, phase, text) in enumerate(rows)
    ]
