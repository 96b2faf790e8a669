"""Workers that fail too often are drained, packages that bring machines down are kept apart."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from datamill.experiment.errors import InputError
from datamill.service.coordinator.experiments.experiments import hold_experiment
from datamill.service.coordinator.leasing.quarantines import describe_quarantine, list_quarantined, uses_file
from datamill.service.coordinator.presence.health_rules import (
    DRAIN_FAILURES,
    POISON_LOST,
    POISON_WORKERS,
    Account,
    find_failing_workers,
    is_poison,
)
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.coordinator.state.rows import select_rows, update_rows
from datamill.service.models import FleetExperiment, FleetWorker, Quarantine
from datamill.service.states import ExperimentState, WorkerState

#: Time for which a lost attempt speaks against a package, in seconds.
REMEMBERED_S = 30 * 86400.0
# A few workers at most, and all others as one.
_ACCOUNTS = """
SELECT worker_id, name, state, ended_attempts, failed_attempts FROM datamill_worker
WHERE failed_attempts >= %s AND state <> 'removed'
"""
_OTHERS = """
SELECT COALESCE(SUM(ended_attempts), 0), COALESCE(SUM(failed_attempts), 0) FROM datamill_worker
WHERE failed_attempts < %s AND state <> 'removed'
"""
_SUSPECTS = """
SELECT t.package_sha256, COUNT(*), COUNT(DISTINCT a.worker_id)
FROM datamill_attempt a JOIN datamill_trial t ON t.id = a.trial_id
WHERE a.state = 'lost' AND a.ended_unix_s > %s AND a.ended_unix_s > COALESCE(
    (SELECT MAX(q.lifted_unix_s) FROM datamill_quarantine q WHERE q.sha256 = t.package_sha256), 0)
GROUP BY t.package_sha256 HAVING COUNT(*) >= %s AND COUNT(DISTINCT a.worker_id) >= %s
"""
_EXPERIMENTS = """
SELECT DISTINCT t.experiment_id FROM datamill_attempt a JOIN datamill_trial t ON t.id = a.trial_id
WHERE a.state = 'lost' AND t.package_sha256 = %s
"""
_COMPLETED = """
SELECT 1 FROM datamill_trial t JOIN datamill_attempt a ON a.trial_id = t.id
    AND a.state = 'counted' AND a.outcome = 'completed'
WHERE t.state = 'counted' AND t.package_sha256 = %s AND t.experiment_id = %s LIMIT 1
"""


def judge_workers(now_s: float) -> list[str]:
    """Drain the workers that fail at least twice as often as their peers, and return who they are."""
    rows = select_rows(_ACCOUNTS, [DRAIN_FAILURES])
    if not rows:
        return []
    ((ended, failed),) = select_rows(_OTHERS, [DRAIN_FAILURES])
    accounts = {row[0]: Account(row[3], row[4]) for row in rows}
    failing = find_failing_workers(accounts, others=Account(ended, failed))
    able = [row for row in rows if row[0] in failing and row[2] != WorkerState.DRAINED]
    if not able:
        return []
    with transaction.atomic():
        update_rows(
            FleetWorker, ("state", "state_reason"), [(row[0], "drained", failing[row[0]]) for row in able]
        )
        add_events(
            [
                NewEvent(EventKind.DRAINED, worker_id=row[0], detail=f"{row[1]}: {failing[row[0]]}.")
                for row in able
            ],
            now_s,
        )
    return [row[0] for row in able]


def judge_packages(now_s: float) -> list[str]:
    """Put packages apart that machines went down under, hold their experiments, and return which they are."""
    poisoned = []
    suspects = select_rows(_SUSPECTS, [now_s - REMEMBERED_S, POISON_LOST, POISON_WORKERS])
    quarantined = list_quarantined() if suspects else {}
    for sha256, lost, workers in suspects:
        if sha256 in quarantined:
            continue
        experiments = [number for (number,) in select_rows(_EXPERIMENTS, [sha256])]
        completed = any(select_rows(_COMPLETED, [sha256, number]) for number in experiments)
        if is_poison(lost, workers, int(completed)):
            reason = f"{lost} attempts were lost under it on {workers} workers, and none completed"
            _quarantine(sha256, reason, now_s)
            poisoned.append(sha256)
    return poisoned


def _quarantine(sha256: str, reason: str, now_s: float) -> None:
    with transaction.atomic():
        Quarantine.objects.create(sha256=sha256, reason=reason, since_unix_s=now_s)
        add_events([NewEvent(EventKind.QUARANTINED, package_sha256=sha256, detail=reason)], now_s)
        live = FleetExperiment.objects.filter(
            state__in=(ExperimentState.DEBUGGING, ExperimentState.RUNNING)
        ).defer("text", "head", "design")
        for stored in live:
            if uses_file(stored.id, sha256):
                hold_experiment(stored, describe_quarantine(sha256, reason), now_s)


def lift_quarantine(sha256: str, user: User, now_s: float) -> None:
    """Let a package be leased again; its experiments stay held until their owners release them.

    Raises:
        InputError: when it is not in quarantine, or the user is no administrator.
    """
    if not user.is_staff:
        raise InputError("only an administrator can lift a quarantine")
    with transaction.atomic():
        lifted = Quarantine.objects.filter(sha256=sha256, lifted_unix_s__isnull=True).update(
            lifted_unix_s=now_s
        )
        if not lifted:
            raise InputError(f"package {sha256[:12]} is not in quarantine")
        add_events([NewEvent(EventKind.QUARANTINE_LIFTED, user=user.username, package_sha256=sha256)], now_s)
