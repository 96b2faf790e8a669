"""Whether a report can be what an attempt was asked for: judged on facts alone, by nobody's times."""

from __future__ import annotations

from datamill.design.records import PlannedTrial
from datamill.results.trial_record import READ_VERSIONS, TrialRecord
from datamill.results.trial_spec import list_set_levels
from datamill.results.validity import wants_another_attempt
from datamill.service.models import TrialPurpose

#: Facts of a phase that are counts, times or sizes.
_MEASURED = (
    "wall_time_ns", "user_time_ns", "system_time_ns", "peak_memory_bytes", "peak_memory_floor_bytes",
    "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches", "stdout_bytes",
    "stderr_bytes", "left_processes",
)  # fmt: skip
#: Beyond it the numbers are those of no machine, and tables could not hold them.
_MOST_MEASURED = 1 << 63


def find_fault(
    record: TrialRecord,
    *,
    experiment: str,
    trial: PlannedTrial,
    attempt: int,
    package_sha256: str,
    purpose: str,
) -> str:
    """Return why a record is not that of the leased attempt, or lacks a phase; empty when it is sound."""
    if record.schema not in READ_VERSIONS:
        return f"its record has schema {record.schema}, which this coordinator does not read"
    pairs = (
        ("experiment", record.experiment, experiment),
        ("trial", record.trial_id, trial.trial_id),
        ("attempt", record.attempt, attempt),
        ("package", record.package, trial.package),
        ("package's SHA-256", record.package_sha256, package_sha256),
        ("seed", record.seed, trial.seed),
    )
    for what, told, asked in pairs:
        if told != asked:
            return f"its record tells of {what} {told}, not {asked}"
    levels = list_set_levels(trial)
    if record.levels != levels:
        names = {*levels, *record.levels}
        other = sorted(name for name in names if record.levels.get(name) != levels.get(name))
        return f"its record has other levels than leased: {', '.join(other[:5])}"
    return _find_missing_phase(record, purpose)


def _find_missing_phase(record: TrialRecord, purpose: str) -> str:
    if record.outcome == "completed":
        if record.failure is not None:
            return "its record is of a completed trial and names a failure"
        needed = ("build",) if purpose == TrialPurpose.BUILD else ("run", "collect")
        for phase in needed:
            if getattr(record, phase) is None:
                return f"its record is of a completed trial and lacks the phase {phase}"
        return _find_impossible(record)
    if record.failure is None and record.outcome != "lost":
        return "its record is of a trial that did not complete and does not say why"
    return ""


def _find_impossible(record: TrialRecord) -> str:
    """Return what a trial that completed cannot have measured; empty when all can be."""
    setup = record.build.setup if record.build is not None else None
    phases = {"run": record.run, "collect": record.collect, "setup": setup}
    phases |= {f"warm-up {number}": phase for number, phase in enumerate(record.warmups, start=1)}
    for name, phase in phases.items():
        if phase is None:
            continue
        if phase.exit_code not in (0, None) or phase.signal is not None or phase.timed_out:
            return f"its record is of a completed trial, and {name} did not end well"
        if name == "run" and phase.wall_time_ns == 0:
            return "its record says that run took no time"
        for item in _MEASURED:
            if not 0 <= getattr(phase, item) < _MOST_MEASURED:
                return f"its record says that {item} of {name} was {str(getattr(phase, item))[:40]}"
        if any(not 0 <= (counter.value or 0) < 1 << 64 for counter in phase.counters):
            return f"its record says that a counter of {name} was what no counter counts"
    return ""


def explain_host_failure(record: TrialRecord) -> str:
    """Return why a record says nothing about its package, only about the host; empty when it does."""
    if not wants_another_attempt(record):
        return ""
    if record.failure is None:
        return "the worker lost the trial"
    return f"{record.failure.kind.replace('_', ' ')} in {record.failure.phase}: {record.failure.message}"
