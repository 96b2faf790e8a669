"""The logs of a bundle: which records may count, and which never must."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import IO

import msgspec

from datamill.experiment.errors import InputError
from datamill.protocol.trial import TrialRecord
from datamill.results.judgement.judged_attempts import JudgedAttempt
from datamill.results.trials.log import decode_record
from datamill.results.trials.log_lines import NO_LINE, seal_record
from datamill.service.models import Attempt, FleetExperiment
from datamill.service.progress import name_state
from datamill.service.states import AttemptState, TrialPurpose
from datamill.service.watching.reading import Rests

#: Rows that are read from the database at a time.
ROWS = 2000


class BundleError(Exception):
    """The database does not hold what a bundle needs: what is wrong must be found, not exported."""


@dataclass(frozen=True, slots=True)
class BundleLogs:
    """Records sorted by whether they may count.

    `counted` has the attempt of each trial that counted, `machines` who made each attempt in the log, by
    trial and number. `standing` has the attempt that stands for its trial: the counted one, else the latest
    that failed.
    """

    log: IO[bytes]
    late: IO[bytes]
    debug: IO[bytes]
    counted: dict[str, int] = field(default_factory=dict)
    machines: dict[tuple[str, int], str] = field(default_factory=dict)
    standing: dict[str, int] = field(default_factory=dict)


def write_logs(experiment: FleetExperiment, logs: BundleLogs) -> None:
    """Write the record of each attempt into the log, or where it can never count.

    In the log are the records that count, and of other attempts those that did not complete and that came
    before. `write_attempts` says which count.
    """
    mine = Attempt.objects.filter(trial__experiment=experiment)
    counting = dict(
        mine.filter(trial__purpose=TrialPurpose.DESIGN, state=AttemptState.COUNTED).values_list(
            "trial__trial_id", "number"
        )
    )
    rows = (
        mine.filter(record__isnull=False)
        .order_by("ended_unix_s", "pk")
        .values_list(
            "trial__trial_id", "trial__purpose", "number", "state", "reason", "worker__name", "record"
        )
    )
    rests = Rests()
    checksum = NO_LINE
    for trial_id, purpose, number, state, reason, worker, raw in rows.iterator(chunk_size=ROWS):
        rests.rest()
        line = bytes(raw or b"")
        record = _read_record(line, trial_id, number)
        if purpose != TrialPurpose.DESIGN:
            told = {
                "purpose": purpose,
                "worker": worker,
                "state": name_state(purpose, state),
                "reason": reason,
            }
            logs.debug.write(_wrap(trial_id, number, told, line))
            continue
        counts = counting.get(trial_id)
        if counts == number:
            if record is None:
                raise BundleError(f"the record of trial {trial_id}, which counts, cannot be read")
            if trial_id in logs.counted:
                raise BundleError(f"trial {trial_id} counts twice")
            logs.counted[trial_id] = number
        elif counts is None and state == AttemptState.COUNTED:
            continue  # It came while this was written: the next bundle has it.
        elif (
            record is None
            or record.outcome == "completed"
            or state != AttemptState.FAULTY
            or (counts is not None and number > counts)
        ):
            logs.late.write(
                _wrap(trial_id, number, {"worker": worker, "state": state, "reason": reason}, line)
            )
            continue
        logs.machines[trial_id, number] = worker
        logs.standing[trial_id] = counts or max(number, logs.standing.get(trial_id, 0))
        sealed, checksum = seal_record(_as_line(line), checksum)
        logs.log.write(sealed)
    missing = counting.keys() - logs.counted.keys()
    if missing:
        raise BundleError(f"trial {min(missing)} counts and has no record")


def write_attempts(logs: BundleLogs, file: IO[bytes]) -> None:
    """Write who made each attempt in the log, and whether it stands for its trial, as `attempts.jsonl`."""
    encoder = msgspec.json.Encoder()
    for (trial_id, number), machine in logs.machines.items():
        counts = logs.standing[trial_id] == number
        file.write(encoder.encode(JudgedAttempt(trial_id, number, machine, counts)) + b"\n")


def _read_record(line: bytes, trial_id: str, number: int) -> TrialRecord | None:
    """Return a record if it is one, and of this attempt."""
    try:
        record = decode_record(line, where="")
    except InputError:
        return None
    return record if (record.trial_id, record.attempt) == (trial_id, number) else None


def _as_line(text: bytes) -> bytes:
    """Return JSON as one line, with every number as it was written."""
    return (msgspec.json.format(text, indent=-1) if b"\n" in text else text) + b"\n"


def _wrap(trial_id: str, number: int, told: dict[str, str], line: bytes) -> bytes:
    """Return a line that nobody takes for one of a log, with what arrived in it as it is or as a text."""
    try:
        msgspec.json.decode(line)
        record: msgspec.Raw | str = msgspec.Raw(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        record = line.decode(errors="replace")
    return _as_line(msgspec.json.encode({"trial_id": trial_id, "attempt": number, **told, "record": record}))
