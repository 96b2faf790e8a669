"""Whether a report can be what an attempt was asked for: judged on facts alone, by nobody's times."""

from __future__ import annotations

import msgspec

from datamill.design.design import PlannedTrial
from datamill.protocol.trial import READ_VERSIONS, TrialRecord
from datamill.results.judgement.validity import wants_another_attempt
from datamill.results.trials.record_checks import find_impossible, find_misfit
from datamill.service.states import TrialPurpose


def find_fault(
    record: TrialRecord,
    *,
    experiment: str,
    trial: PlannedTrial,
    attempt: int,
    package_sha256: str,
    purpose: str,
    has_collect: bool,
) -> str:
    """Return why a record is not that of the leased attempt, or lacks a phase; empty when it is sound.

    A package that has no `collect.sh` has no such phase.
    """
    if record.schema not in READ_VERSIONS:
        return f"its record has schema {record.schema}, which this coordinator does not read"
    if _holds_endless_number(record):
        return "its record holds a number of more than 64 bits"
    if record.attempt != attempt:
        return f"its record is of attempt {record.attempt}, not {attempt}"
    if misfit := find_misfit(record, trial, experiment=experiment, package_sha256=package_sha256):
        return f"its record {misfit}"
    return _find_missing_phase(record, purpose, has_collect=has_collect)


def _holds_endless_number(record: TrialRecord) -> bool:
    """Tell whether there is a whole number that no table can hold; metrics are no whole numbers."""
    pending = [msgspec.to_builtins(msgspec.structs.replace(record, metrics={}))]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item
        elif isinstance(item, int) and not -(1 << 63) <= item < 1 << 64:
            return True
    return False


def _find_missing_phase(record: TrialRecord, purpose: str, *, has_collect: bool) -> str:
    if record.outcome == "completed":
        if record.failure is not None:
            return "its record is of a completed trial and names a failure"
        measured = ("run", "collect") if has_collect else ("run",)
        needed = {TrialPurpose.BUILD: ("build",), TrialPurpose.PROFILE: ("run",)}.get(
            TrialPurpose(purpose), measured
        )
        for phase in needed:
            if getattr(record, phase) is None:
                return f"its record is of a completed trial and lacks the phase {phase}"
        if purpose == TrialPurpose.PROFILE and record.archive is None:
            return "its record is of a completed profile and names no file"
        impossible = find_impossible(record)
        return f"its record {impossible}" if impossible else ""
    if record.failure is None and record.outcome != "lost":
        return "its record is of a trial that did not complete and does not say why"
    return ""


def explain_host_failure(record: TrialRecord) -> str:
    """Return why a record says nothing about its package, only about the host; empty when it does."""
    if not wants_another_attempt(record):
        return ""
    if record.failure is None:
        return "the worker lost the trial"
    return f"{record.failure.kind.replace('_', ' ')} in {record.failure.phase}: {record.failure.message}"
