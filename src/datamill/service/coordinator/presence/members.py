"""Who is in the fleet, and what becomes of the trials of those who cannot take them."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from datamill.experiment.errors import InputError
from datamill.service.coordinator.leasing.dependents import NEEDED, EndedNeed, settle_dependents
from datamill.service.coordinator.leasing.ledger import Ledger
from datamill.service.coordinator.leasing.moves import MovePlanner, describe_move
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.coordinator.state.rows import select_rows, update_rows
from datamill.service.models import Attempt, FleetWorker, Trial
from datamill.service.states import OPEN_ATTEMPTS, AttemptState, ExperimentState, WorkerState

#: Silence or absence after which another worker is asked, in seconds: a machine may be on its way up.
MOVE_AFTER_S = 3600.0
#: Absence after which trials that only this worker could make are given up, in seconds.
GIVE_UP_AFTER_S = 7 * 86400.0
#: Trials that one step moves.
MOST_MOVED = 5000
_GONE = "its worker is gone, and there is no equivalent one"
# The limit keeps PostgreSQL from looking at all planned trials first, of which there may be a million.
_STRANDED = """
SELECT w.worker_id, w.state, w.heard_unix_s FROM datamill_worker w
WHERE w.state IN ('away', 'silent', 'drained', 'removed') AND (
    SELECT t.id FROM datamill_trial t WHERE t.worker_id = w.worker_id AND t.state = 'planned' LIMIT 1
) IS NOT NULL
"""
_PLANNED = """
SELECT t.id, t.trial_id, t.experiment_id, t.package_sha256, t.reboot, e.reboot, u.username, t.attempts,
    t.purpose, e.state
FROM datamill_trial t
JOIN datamill_experiment e ON e.id = t.experiment_id
JOIN auth_user u ON u.id = e.owner_id
WHERE t.worker_id = %s AND t.state = 'planned' AND e.state <> 'cancelled'
ORDER BY t.experiment_id, t.position LIMIT %s
"""


def drain_worker(name: str, user: User, now_s: float) -> None:
    """Give a worker no further trials; the one that it makes is its last.

    Raises:
        InputError: when there is no such worker, it is another user's, or it is drained or removed already.
    """
    with transaction.atomic():
        worker = _find_own_worker(name, user)
        if worker.state == WorkerState.DRAINED:
            raise InputError(f"worker {name} is drained already")
        _change(worker, WorkerState.DRAINED, f"by {user.username}", EventKind.DRAINED, user, now_s)


def resume_worker(name: str, user: User, now_s: float) -> None:
    """Let a drained worker have trials again; what it failed before is forgotten.

    Raises:
        InputError: when there is no such worker, it is another user's, or it is not drained.
    """
    with transaction.atomic():
        worker = _find_own_worker(name, user)
        if worker.state != WorkerState.DRAINED:
            raise InputError(f"worker {name} is not drained: it is {worker.state}")
        worker.ended_attempts = worker.failed_attempts = 0
        worker.save(update_fields=["ended_attempts", "failed_attempts"])
        under_way = Attempt.objects.filter(worker=worker, state__in=OPEN_ATTEMPTS).exists()
        free = WorkerState.IDLE if worker.left_unix_s is None else WorkerState.AWAY
        state = WorkerState.BUSY if under_way else free
        _change(worker, state, "", EventKind.RESUMED, user, now_s)


def remove_worker(name: str, user: User, now_s: float) -> None:
    """Let a worker leave the fleet: its credentials are void, its attempt is lost, its trials go elsewhere.

    Raises:
        InputError: when there is no such worker, it is another user's, or it was removed already.
    """
    with transaction.atomic():
        worker = _find_own_worker(name, user)
        _change(worker, WorkerState.REMOVED, f"by {user.username}", EventKind.REMOVED, user, now_s)
        worker.api_key_sha256 = f"void {worker.worker_id}"
        worker.save(update_fields=["api_key_sha256"])
        ledger = Ledger(now_s)
        for attempt in ledger.load_attempts(
            "a.state IN ('leased', 'taken') AND a.worker_id IN {list}", [worker.worker_id]
        ):
            ledger.load_workers([worker.worker_id])
            ledger.fail(attempt, AttemptState.LOST, "its worker left the fleet", elsewhere=True)
        ledger.write()


def _find_own_worker(name: str, user: User) -> FleetWorker:
    worker = FleetWorker.objects.select_for_update().filter(name=name).first()
    if worker is None:
        raise InputError(f'there is no worker "{name}"', remedy="datamill workers lists them.")
    if not user.is_staff and worker.owner_id != user.pk:
        raise InputError(f"worker {name} is another user's", remedy="Ask its owner or an administrator.")
    if worker.state == WorkerState.REMOVED:
        raise InputError(f"worker {name} was removed from the fleet")
    return worker


def _change(
    worker: FleetWorker, state: WorkerState, reason: str, kind: EventKind, user: User, now_s: float
) -> None:
    worker.state, worker.state_reason = state, reason
    worker.orders_sequence += 1
    worker.save(update_fields=["state", "state_reason", "orders_sequence"])
    add_events(
        [
            NewEvent(
                kind, user=user.username, worker_id=worker.worker_id, detail=f"{worker.name} {reason}".strip()
            )
        ],
        now_s,
    )


def move_trials(now_s: float) -> float:
    """Move planned trials of workers that are away to equivalent ones, or give them up when none comes back.

    Returns:
        Seconds until there may be more to move; infinite when nobody who is away has trials.
    """
    wait_s = float("inf")
    for worker_id, state, heard_s in select_rows(_STRANDED):
        absent_s = now_s - heard_s
        if state in (WorkerState.AWAY, WorkerState.SILENT) and absent_s < MOVE_AFTER_S:
            wait_s = min(wait_s, MOVE_AFTER_S - absent_s)
            continue
        give_up = state == WorkerState.REMOVED or absent_s >= GIVE_UP_AFTER_S
        moved, left = _move_from(worker_id, give_up, now_s)
        if moved == MOST_MOVED:
            wait_s = 0.0
        elif left:
            # Equivalent workers may join or come back meanwhile: look again now and then.
            wait_s = min(wait_s, max(1.0, min(60.0, GIVE_UP_AFTER_S - absent_s)))
    return wait_s


def _move_from(worker_id: str, give_up: bool, now_s: float) -> tuple[int, int]:
    """Move or give up trials of one worker; return how many were, and how many stay."""
    planner = MovePlanner()
    changes: list[tuple[object, ...]] = []
    events = []
    needed = []
    left = 0
    with transaction.atomic():
        for row in select_rows(_PLANNED, [worker_id, MOST_MOVED]):
            row_id, trial_id, experiment_id, sha256, reboot, policy, user, attempts, purpose, state = row
            target = planner.find_target(experiment_id, worker_id, sha256)
            if target is not None:
                changes.append((row_id, "planned", target, bool(reboot) or policy == "block"))
                events.append(describe_move(user, experiment_id, trial_id, worker_id, target))
            elif give_up:
                changes.append((row_id, "given_up", worker_id, bool(reboot)))
                events.append(
                    NewEvent(
                        EventKind.GIVEN_UP,
                        user=user,
                        worker_id=worker_id,
                        experiment_id=experiment_id,
                        attempt=f"{experiment_id}.{trial_id}.{attempts}",
                        package_sha256=sha256,
                        detail=_GONE,
                    )
                )
                if purpose in NEEDED:
                    running = state == ExperimentState.RUNNING
                    needed.append(
                        EndedNeed(
                            row_id, trial_id, purpose, experiment_id, running, user, worker_id, sha256,
                            done=False, reason=_GONE,
                        )
                    )  # fmt: skip
            else:
                left += 1
        update_rows(Trial, ("state", "worker_id", "reboot"), changes)
        # Nobody waits for what will never be.
        events += settle_dependents(needed)
        add_events(events, now_s)
    return len(changes), left
