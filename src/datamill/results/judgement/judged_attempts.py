"""Who made each attempt of a fleet, and which one counts: the coordinator's judgement, kept as a fact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from datamill.experiment.errors import InputError
from datamill.protocol.trial import TrialRecord
from datamill.results.judgement.validity import CountedTrials, count_trials_once

#: The file of a fleet's bundle that holds them, a JSON line each.
ATTEMPTS_FILE = "attempts.jsonl"
_REMEDY = "Copy the folder again from where it is whole, or take the experiment home again."


class JudgedAttempt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An attempt whose record is in the log: who made it, and whether it stands for its trial."""

    trial_id: str
    attempt: int
    machine: str
    counts: bool


@dataclass(frozen=True)
class JudgedAttempts:
    """The attempts of a fleet's bundle, in the order of its log."""

    file: Path
    attempts: tuple[JudgedAttempt, ...]

    @cached_property
    def machines(self) -> Mapping[tuple[str, int], str]:
        """The machine that made each attempt, by trial and number."""
        return {(item.trial_id, item.attempt): item.machine for item in self.attempts}

    @cached_property
    def made_on(self) -> Mapping[str, str]:
        """The machine of the attempt that stands for each trial."""
        return {item.trial_id: item.machine for item in self.attempts if item.counts}

    @cached_property
    def counted(self) -> CountedTrials:
        """Which attempt stands for each trial."""
        return CountedTrials({item.trial_id: item.attempt for item in self.attempts if item.counts})

    def check_records(self, records: Sequence[TrialRecord]) -> None:
        """Make sure that these attempts are those of the log.

        Raises:
            InputError: when the log has an attempt more or less, or a trial does not count once.
        """
        logged = {(record.trial_id, record.attempt) for record in records}
        if logged != self.machines.keys():
            trial, number = min(logged ^ self.machines.keys())
            place = "only in log.jsonl" if (trial, number) in logged else "not in log.jsonl"
            raise InputError(
                f"attempt {number} at trial {trial} is {place}", where=str(self.file), remedy=_REMEDY
            )
        trials = [item.trial_id for item in self.attempts if item.counts]
        if len(trials) != len(set(trials)) or set(trials) != {trial for trial, _ in logged}:
            raise InputError("not every trial counts once", where=str(self.file), remedy=_REMEDY)


def read_attempts(file: Path) -> JudgedAttempts | None:
    """Return the attempts of a fleet's bundle; None of one made here, or by an older datamill.

    Raises:
        InputError: when a line is not an attempt; names it.
    """
    if not file.is_file():
        return None
    decoder = msgspec.json.Decoder(JudgedAttempt)
    attempts = []
    for number, line in enumerate(file.read_bytes().splitlines(), start=1):
        try:
            attempts.append(decoder.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(f"not an attempt: {error}", where=f"{file}:{number}", remedy=_REMEDY) from None
    return JudgedAttempts(file, tuple(attempts))


def count_attempts(judged: JudgedAttempts | None, records: Sequence[TrialRecord]) -> CountedTrials:
    """Choose for each trial the attempt that counts: as the coordinator judged, else by the records."""
    return count_trials_once(records) if judged is None else judged.counted
